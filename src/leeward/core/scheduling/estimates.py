"""What estimators outside of the scheduler said, as data: a question, and how many more fit into each cluster.

The scheduler takes the lowest answer of all estimators and of its own, which reads what clusters report of themselves
(`estimation.py`). Asking, with a deadline, is the controller's; here nothing waits, and what was not answered limits
nothing. What was promised since to other bindings is taken off, see `Ledger.displaced`.

Karmada: pkg/scheduler/core/util.go (`calAvailableReplicas`); same. It asks for every attempt, also where room decides
nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from leeward.api.cluster import Cluster
from leeward.api.codec import encode
from leeward.api.work import Binding, Component, ReplicaRequirements, ResourceBindingSpec
from leeward.core.scheduling.capacity import MAX_REPLICAS
from leeward.core.scheduling.model import Estimator, Request
from leeward.core.scheduling.reschedule import needs_scheduling
from leeward.core.scheduling.selection import room_decides

UNAUTHENTIC = -1
"""An estimator's answer for a cluster of which it knows nothing (Karmada: UnauthenticReplica)."""

MAX_QUESTIONS = 1_000

Answers = Mapping[str, int]
"""By the cluster's name, how many more replicas, or sets of components, fit."""


@dataclass(frozen=True, slots=True)
class Question:
    """How many more fit of this: replicas with `requirements`, or, where there are any, sets of all `components`."""

    requirements: ReplicaRequirements | None
    components: tuple[Component, ...] = ()

    @property
    def key(self) -> bytes:
        """The same for questions that mean the same."""
        return encode((self.requirements, self.components))


def question_of(request: Request) -> Question:
    """What has to be known to find room for the request."""
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


class Estimates:
    """The latest answers to the latest questions."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Answers] = {}

    def put(self, question: Question, answers: Answers) -> None:
        """In the place of what was answered before; nothing is kept of a question without any answer."""
        self._answers.pop(question.key, None)
        if answers:
            self._answers[question.key] = answers
        while len(self._answers) > MAX_QUESTIONS:
            del self._answers[next(iter(self._answers))]

    def about(self, spec: ResourceBindingSpec) -> tuple[tuple[Question, Answers], ...]:
        """What was answered to the questions that placing the binding can lead to: for replicas, and for a set."""
        questions = (Question(spec.replica_requirements), Question(None, spec.components))
        found = ((question, self._answers.get(question.key)) for question in questions)
        return tuple((question, answers) for question, answers in found if answers)

    def of(self, request: Request) -> Answers:
        return self._answers.get(question_of(request).key, {}) if self._answers else {}


def estimator_of(estimates: Estimates) -> Estimator:
    """The plug-in that reads `estimates` as they are when asked."""

    def estimate(request: Request) -> Callable[[Cluster], int] | None:
        answers = estimates.of(request)
        return (lambda cluster: answers.get(cluster.name, MAX_REPLICAS)) if answers else None

    return Estimator("Estimates", estimate)


def asks_for_room(binding: Binding, clusters: Mapping[str, Cluster]) -> bool:
    """Whether a decision about the binding may depend on how much room there is. `clusters` by name."""
    spec = binding.spec
    if not spec.is_workload or spec.placement is None or not room_decides(spec.placement):
        return False
    if spec.failover is not None and spec.failover.application is not None:
        return True
    targets = (clusters.get(target.name) for target in spec.clusters)
    is_tainted = any(t.effect == "NoExecute" for each in targets if each is not None for t in each.spec.taints)
    return is_tainted or needs_scheduling(binding, clusters)
