"""The state of a small world: only what a decision can depend on, so that equal futures are one state.

Clusters are numbered; time is a count of ticks since something happened, never an instant, and stops where nothing
asks any more how long ago it was. What is written of a generation is only whether it is the present one. These three
make worlds that differ in nothing that matters equal, which is what keeps their number small.

    State ── ClusterState per cluster: the truth about its health, and what its Cluster object says
          ├─ BindingState per binding: its spec (Plan), its Works (what is ordered and reported), its copies (the truth)
          └─ BrakeState
"""

from typing import NamedTuple

from leeward.api.purge_mode import StoredPurgeModeText
from leeward.core.cluster_health.ready_condition import Sight

GRACE_TICKS = 2
"""The age at which a task's grace period is over: it lasts one tick and a half."""


class TaintMark(NamedTuple):
    """`age` in ticks, at most 1: whether its toleration is over."""

    key: str
    effect: str
    age: int = 0


MAINTENANCE = TaintMark("maintenance", "NoExecute")
"""The taint that someone sets on a cluster that is to be empty."""


class ClusterObject(NamedTuple):
    """State that the Cluster object tells; `outage_age` is since when the clock of its outage runs, at most 1 tick."""

    ready: bool = True
    reason: str = "ClusterReady"
    taints: tuple[TaintMark, ...] = ()
    outage_age: int | None = None

    @property
    def looks_dead(self) -> bool:
        return not self.ready and self.reason != "StatusCollectionFailed"


class ClusterState(NamedTuple):
    """`sight` is the truth, `probed` the status that probes give for `probed_age` ticks (at most 1).

    The age stands at 1 as long as probes say what the Cluster says.
    """

    sight: Sight = "healthy"
    probed: str = "True"
    probed_age: int = 1
    object: ClusterObject = ClusterObject()


class Task(NamedTuple):
    """An eviction task; `age` in ticks, at most `GRACE_TICKS`."""

    cluster: int
    replicas: int | None
    mode: StoredPurgeModeText
    age: int = 0


class Plan(NamedTuple):
    """A binding's spec, and what is known of it.

    `targets` are pairs of cluster and replicas. `rendered`: the Works are said to render the present spec.
    `asked`: the user wants something that was not answered yet. `tried`: clusters that were left in vain, as long as an
    eviction is open.
    """

    replicas: int
    targets: tuple[tuple[int, int], ...] = ()
    tasks: tuple[Task, ...] = ()
    rendered: bool = False
    asked: bool = True
    tried: tuple[int, ...] = ()

    @property
    def assigned(self) -> dict[int, int]:
        return dict(self.targets)


class WorkObject(NamedTuple):
    """Orders of a Work, and what it reports.

    `applied` and `reflected` say that this is so for its present generation; `ready` and `healthy` are the report,
    `since_ready` whether it was read after the cluster last became Ready. `outdated`: the template has changed since.
    """

    replicas: int
    outdated: bool = False
    deleting: bool = False
    applied: bool = False
    reflected: bool = False
    ready: int = 0
    healthy: bool = False
    since_ready: bool = False


class Copy(NamedTuple):
    """Copy that a member really runs; `current`: it carries the Work's present generation, `outdated`: another
    template."""

    replicas: int
    ready: int
    current: bool = True
    outdated: bool = False


class BindingState(NamedTuple):
    """`works` and `copies` by cluster. `deleted`: the user has deleted the template."""

    plan: Plan
    works: tuple[WorkObject | None, ...]
    copies: tuple[Copy | None, ...]
    deleted: bool = False


class BrakeState(NamedTuple):
    """`calm_age` in ticks, at most 1: since when the fleet looks well again while it is engaged."""

    engaged: bool = False
    calm_age: int | None = None


class State(NamedTuple):
    clusters: tuple[ClusterState, ...]
    bindings: tuple[BindingState, ...]
    brake: BrakeState = BrakeState()

    @property
    def fleet(self) -> tuple[ClusterObject, ...]:
        return tuple(cluster.object for cluster in self.clusters)


class Step(NamedTuple):
    """Step of a story: a verb, and the numbers that it is about (binding, cluster, replicas)."""

    verb: str
    subject: tuple[int, ...] = ()


class Problem(NamedTuple):
    """An invariant's id, and in a sentence how it was broken."""

    id: str
    sentence: str


class Move(NamedTuple):
    """One transition: the state after it, and what was wrong with it. A fault costs one of the world's few."""

    step: Step
    after: State
    is_fault: bool = False
    problems: tuple[Problem, ...] = ()


def with_cluster(state: State, index: int, cluster: ClusterState) -> State:
    clusters = (*state.clusters[:index], cluster, *state.clusters[index + 1 :])
    return State(clusters, state.bindings, state.brake)


def with_binding(state: State, index: int, binding: BindingState) -> State:
    bindings = (*state.bindings[:index], binding, *state.bindings[index + 1 :])
    return State(state.clusters, bindings, state.brake)


def with_work(binding: BindingState, cluster: int, work: WorkObject | None) -> BindingState:
    return binding._replace(works=(*binding.works[:cluster], work, *binding.works[cluster + 1 :]))


def with_copy(binding: BindingState, cluster: int, copy: Copy | None) -> BindingState:
    return binding._replace(copies=(*binding.copies[:cluster], copy, *binding.copies[cluster + 1 :]))
