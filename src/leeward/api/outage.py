"""`leeward.dev/v1alpha1`: an outage of a cluster, as one story that outlives events and restarts (ours).

One object for each outage. `spec` says which cluster and since when, and never changes; `status` is what was seen of
it. All instants are whole seconds. What would make the object too large is counted and not listed.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import field

from kubeapi.meta import Counted, Int32, Int64, TypedObject

RUNNING = "running"
"""Duration, in the column FOR, of an outage that is not over."""


class OutagePhase(StrEnum):
    """Running until the cluster is Ready again; Returned until its old copies are cleaned up; then Over."""

    RUNNING = "Running"
    RETURNED = "Returned"
    OVER = "Over"


class MoveState(StrEnum):
    """State that an outage has brought an application into.

    DUE       still assigned to the cluster; it leaves when its tolerations end, or when its turn comes
    HELD      what is due does not happen, and somebody is needed
    KEPT      it stays assigned, because nothing would be gained, or because it tolerates the outage
    MOVING    it has left, and what replaces it is not healthy yet
    MOVED     what replaces it is healthy
    RETURNED  its copy in the cluster serves again: it never left, or its eviction was withdrawn
    """

    DUE = "Due"
    HELD = "Held"
    KEPT = "Kept"
    MOVING = "Moving"
    MOVED = "Moved"
    RETURNED = "Returned"


class StepKind(StrEnum):
    FAILED_PROBE = "FailedProbe"
    NOT_READY = "NotReady"
    NO_EXECUTE = "NoExecute"
    BRAKE_ENGAGED = "BrakeEngaged"
    BRAKE_RELEASED = "BrakeReleased"
    LEFT = "Left"
    HELD = "Held"
    KEPT = "Kept"
    WITHDRAWN = "Withdrawn"
    RETURNED = "Returned"
    FAILED_AGAIN = "FailedAgain"
    CLEANED = "Cleaned"
    UNJOINED = "Unjoined"


class OutageStep(Counted, frozen=True):
    """Something that happened to `applications` of them; of a step that lasts `until` is its last instant so far.

    Of those that have left, `healthy` is how many have a healthy replacement, `healthy_at` when the last of them had;
    `tolerated_seconds` how long they tolerated the taint, where one evicted them all. `message` is a sentence of a
    condition.
    """

    at: datetime
    kind: StepKind
    reason: str = ""
    message: str = ""
    until: datetime | None = None
    applications: Int32 = 0
    to: tuple[str, ...] = ()
    tolerated_seconds: Int64 | None = None
    healthy: Int32 = 0
    healthy_at: datetime | None = None


class OutageApplication(Counted, frozen=True):
    """`replicas` are those in the cluster when it failed; `to` what other clusters got for them.
    `tolerated_seconds` is how long it tolerates the NoExecute taint, None for ever.

    `reason` and `message` say why it is held or kept, or was before the cluster returned; `told` are the instants of
    the steps that last told so, by reason. `recovery_seconds` run from the first failure until what replaces it was
    healthy.
    """

    kind: str
    name: str
    state: MoveState
    namespace: str = ""
    replicas: Int32 = 0
    to: Mapping[str, Int32] = {}
    tolerated_seconds: Int64 | None = None
    due_at: datetime | None = None
    left_at: datetime | None = None
    healthy_at: datetime | None = None
    recovery_seconds: Int64 | None = None
    reason: str = ""
    message: str = ""
    told: Mapping[str, datetime] = {}


class OutageCounts(Counted, frozen=True):
    """Numbers of applications in each state, `at` this instant."""

    at: datetime
    due: Int32 = 0
    held: Int32 = 0
    kept: Int32 = 0
    moving: Int32 = 0
    moved: Int32 = 0
    returned: Int32 = 0


class RecoveryCount(Counted, frozen=True):
    """Number of applications that took so long."""

    seconds: Int64
    count: Int32


class RecoveryTimes(Counted, frozen=True):
    """Times from the first failure until a replacement was healthy. `times` are all of them, in coarser steps when
    many."""

    count: Int32 = 0
    median_seconds: Int64 = 0
    worst_seconds: Int64 = 0
    worst: str = ""
    times: tuple[RecoveryCount, ...] = ()


class OutageSpec(Counted, frozen=True):
    """`since` is the first look that did not find the cluster well."""

    cluster: str
    since: datetime


class OutageStatus(Counted, frozen=True):
    """`failed_at` is the last time at which it began to fail; `lasted` is for people, and `running` until it returns.

    `applications` counts all that were there; `listed` names as many of them as there is room for, who needs somebody
    first. `omitted_steps` is how many steps are left out between the first and the last ones. What `kubectl get` shows
    is on the wire also where it is nothing.
    """

    phase: OutagePhase = field(default_factory=lambda: OutagePhase.RUNNING)
    lasted: str = field(default_factory=lambda: RUNNING)
    reason: str = ""
    message: str = ""
    failed_at: datetime | None = None
    not_ready_at: datetime | None = None
    no_execute_at: datetime | None = None
    returned_at: datetime | None = None
    cleaned_at: datetime | None = None
    failures: Int32 = 1
    braked: bool = False
    applications: Int32 = field(default_factory=int)
    due: Int32 = field(default_factory=int)
    held: Int32 = field(default_factory=int)
    kept: Int32 = field(default_factory=int)
    moving: Int32 = field(default_factory=int)
    moved: Int32 = field(default_factory=int)
    returned: Int32 = field(default_factory=int)
    recovery: RecoveryTimes = RecoveryTimes()
    steps: tuple[OutageStep, ...] = ()
    omitted_steps: Int32 = 0
    curve: tuple[OutageCounts, ...] = ()
    listed: tuple[OutageApplication, ...] = ()

    @property
    def last_cleaned_at(self) -> datetime | None:
        """Instant at which old copies were last cleaned up there, also before it failed again."""
        return max((step.at for step in self.steps if step.kind is StepKind.CLEANED), default=None)


class ClusterOutage(TypedObject, frozen=True, kw_only=True):
    """One outage of a cluster: since when, what has left, where to, what was held and why, and how long it took."""

    spec: OutageSpec
    status: OutageStatus = OutageStatus()
