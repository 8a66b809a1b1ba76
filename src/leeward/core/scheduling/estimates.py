"""Answers of estimators outside of the scheduler, as data: a question, and how many more fit into each cluster.

The scheduler takes the lowest answer of all estimators and of the clusters' own reports. Asking, with a deadline, is
the controller's; here nothing waits, and an open question limits nothing. Later reservations for other bindings are
taken off, see `ClusterArrays.displaced`.

Karmada: pkg/scheduler/core/util.go (`calAvailableReplicas`); same. It asks for every attempt, also where room decides
nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, Component, ReplicaRequirements
from leeward.core.scheduling.model import MAX_REPLICAS, Estimator, Request
from leeward.core.scheduling.reschedule import needs_scheduling
from leeward.core.scheduling.selection import room_decides

UNAUTHENTIC = -1
"""An estimator's answer for a cluster of which it knows nothing (Karmada: UnauthenticReplica)."""

Answers = Mapping[str, int]
"""Numbers of replicas, or sets of components, that still fit, by the cluster's name."""


@dataclass(frozen=True, slots=True)
class Question:
    """Question how many more fit: replicas with `requirements`, or, where there are any, sets of all `components`."""

    requirements: ReplicaRequirements | None
    components: tuple[Component, ...] = ()

    @property
    def key(self) -> bytes:
        """Key that is the same for questions that mean the same."""
        return encode((self.requirements, self.components))


def question_of(request: Request) -> Question:
    """Question to be answered before there is room for the request."""
    if request.is_set:
        return Question(None, request.spec.components)
    return Question(request.spec.replica_requirements)


def lowest(answers: Iterable[Answers]) -> Answers:
    """The minimum by cluster; negative numbers say nothing, and absurd ones are clamped. Holds: S10."""
    found: dict[str, int] = {}
    for answer in answers:
        for name, replicas in answer.items():
            if replicas >= 0:
                found[name] = min(replicas, found.get(name, MAX_REPLICAS))
    return found


def estimator_of(answers_to: Callable[[Request], Answers]) -> Estimator:
    """The plug-in that reads the answers, as they are when it is asked."""

    def estimate(request: Request) -> Callable[[Cluster], int] | None:
        answers = answers_to(request)
        return (lambda cluster: answers.get(cluster.name, MAX_REPLICAS)) if answers else None

    return Estimator("Estimates", estimate)


def asks_for_room(binding: Binding, clusters: Mapping[str, Cluster]) -> bool:
    """Tells whether a decision about the binding may depend on how much room there is. `clusters` by name."""
    spec = binding.spec
    if not spec.is_workload or spec.placement is None or not room_decides(spec.placement):
        return False
    if spec.failover is not None and spec.failover.application is not None:
        return True
    targets = (clusters.get(target.name) for target in spec.clusters)
    is_tainted = any(t.effect == "NoExecute" for each in targets if each is not None for t in each.taints)
    return is_tainted or needs_scheduling(binding, clusters)
