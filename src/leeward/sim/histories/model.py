"""A history as data: members, what users do, and what fails. Times are seconds since the world began.

A step stands for itself, so that any of them can be left out and the rest still makes sense: what fails says how long
it lasts and mends itself, and what a user does to something that is not there does nothing.
"""

from typing import Literal

import msgspec

Mode = Literal["Push", "Pull"]
Division = Literal["Duplicated", "Static", "Dynamic", "Aggregated"]
Pace = Literal["brisk", "karmada"]


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an application is to run. `weights` belong to `clusters`, in their order, and count for `Static`.

    `groups` are the least and the most clusters of a spread constraint, (0, 0) for none. `toleration_seconds` 0 leaves
    the defaults of admission.
    """

    division: Division
    clusters: tuple[str, ...]
    weights: tuple[int, ...] = ()
    groups: tuple[int, int] = (0, 0)
    directly: bool = False
    toleration_seconds: int = 0


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True, tag_field="step"):
    """Something that happens `at` a time."""

    at: float

    @property
    def ends_at(self) -> float:
        return self.at


class UserStep(Step, frozen=True, kw_only=True):
    """What a user wants. It is tried until it succeeds, and users do one thing after the other."""


class Fault(Step, frozen=True, kw_only=True):
    """What fails, and works again `lasts` seconds later."""

    lasts: float

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class Deploy(UserStep, frozen=True, kw_only=True):
    """A template and its policy. `config` makes it a ConfigMap, which has no replicas; `cpu` is what a replica asks."""

    app: str
    plan: Plan
    replicas: int = 1
    cpu: int = 1
    config: bool = False


class Scale(UserStep, frozen=True, kw_only=True):
    app: str
    replicas: int


class Release(UserStep, frozen=True, kw_only=True):
    """Another image, or other contents."""

    app: str
    version: int


class Replan(UserStep, frozen=True, kw_only=True):
    """The policy gets another placement."""

    app: str
    plan: Plan


class Withdraw(UserStep, frozen=True, kw_only=True):
    """The template and its policy are deleted."""

    app: str


class Recreate(UserStep, frozen=True, kw_only=True):
    """The template is deleted, and another one of the same name is made at once."""

    app: str
    replicas: int


class RecreatePolicy(UserStep, frozen=True, kw_only=True):
    app: str


class Rebalance(UserStep, frozen=True, kw_only=True):
    app: str


class Maintain(UserStep, frozen=True, kw_only=True):
    """A NoExecute taint is set by hand, and taken off `lasts` seconds later."""

    cluster: str
    lasts: float

    @property
    def ends_at(self) -> float:
        return self.at + self.lasts


class Rejoin(UserStep, frozen=True, kw_only=True):
    """The Cluster is deleted, and joined again when it is gone."""

    cluster: str


class Meddle(UserStep, frozen=True, kw_only=True):
    """Someone changes a copy in the member itself: `delete` it, or let it ask for one replica more and a label."""

    app: str
    cluster: str
    delete: bool = False


class Squat(UserStep, frozen=True, kw_only=True):
    """Someone makes an object of an application's name in a member by hand: it is not ours."""

    app: str
    cluster: str
    config: bool = False


class MemberStops(Fault, frozen=True, kw_only=True):
    member: str


class MemberIsKilled(Fault, frozen=True, kw_only=True):
    """Its API server dies `steps` awaits after its time."""

    member: str
    steps: int = 0


class MemberHangs(Fault, frozen=True, kw_only=True):
    member: str


class MemberIsSlow(Fault, frozen=True, kw_only=True):
    member: str
    seconds: float


class MemberIsUnready(Fault, frozen=True, kw_only=True):
    """/readyz does not say ok."""

    member: str


class MemberLosesData(Fault, frozen=True, kw_only=True):
    """It stops, and comes back empty."""

    member: str


class MemberComesBackOld(Fault, frozen=True, kw_only=True):
    """It stops half-way, and comes back with what it held when the step began."""

    member: str


class MemberShrinks(Fault, frozen=True, kw_only=True):
    """It restarts with fewer nodes, and again with all of them."""

    member: str
    nodes: int


class MemberLies(Fault, frozen=True, kw_only=True):
    """Its Deployments claim absurd numbers of ready replicas, and its nodes absurd capacity."""

    member: str


class MemberFlaps(Fault, frozen=True, kw_only=True):
    """It is cut off from everybody and back again every `period` seconds."""

    member: str
    period: float


class AgentIsKilled(Fault, frozen=True, kw_only=True):
    member: str
    steps: int = 0


class Partition(Fault, frozen=True, kw_only=True):
    """Two parties cannot reach each other; names as in `World.link`."""

    who: str
    whom: str


class CutOff(Fault, frozen=True, kw_only=True):
    """The control plane reaches no member, and no agent reaches it."""


class ControllersAreKilled(Fault, frozen=True, kw_only=True):
    steps: int = 0


class TwoLeaders(Fault, frozen=True, kw_only=True):
    """A second set of controllers works beside the first."""


class LeaderIsPaused(Fault, frozen=True, kw_only=True):
    """Two replicas compete for the lease, in place of the controllers; the one that leads is stopped `after` seconds
    later, and goes on `pause_seconds` after that in the middle of what it did."""

    after: float
    pause_seconds: float


class ApiServerIsKilled(Fault, frozen=True, kw_only=True):
    """`power_cut`: writes that are not synced are gone."""

    steps: int = 0
    power_cut: bool = False


class ClockIsWrong(Fault, frozen=True, kw_only=True):
    """The clock of the controllers or of an agent is `seconds` ahead."""

    who: str
    seconds: float


class History(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One history. `sync_seconds` is how long a commit of the control plane's store takes; `revisions` how many it
    keeps to watch from, 0 for as many as in production; `evictions_per_second` is --resource-eviction-rate, 0 for
    none."""

    seed: int
    members: tuple[tuple[str, Mode], ...]
    steps: tuple["AnyStep", ...]
    pace: Pace = "brisk"
    sync_seconds: float = 0.0
    revisions: int = 0
    evictions_per_second: float = 0.0

    @property
    def ends_at(self) -> float:
        """When the last fault is over."""
        return max((step.ends_at for step in self.steps), default=0.0)


class Storm(Fault, frozen=True, kw_only=True):
    """Bad weather on the way from `who` to `whom`: the fields are those of `sim.weather.Climate`."""

    who: str
    whom: str
    rate: float = 0.0
    mishaps: tuple[Literal["busy", "broken", "conflict", "expired", "lost", "unanswered"], ...] = ()
    lag_seconds: float = 0.0
    repeats: float = 0.0
    breaks: float = 0.0
    jitter_seconds: float = 0.0
    break_at: int = 0
    stale_at: int = 0


AnyUserStep = (
    Deploy
    | Scale
    | Release
    | Replan
    | Withdraw
    | Recreate
    | RecreatePolicy
    | Rebalance
    | Maintain
    | Rejoin
    | Meddle
    | Squat
)
AnyFault = (
    MemberStops
    | MemberIsKilled
    | MemberHangs
    | MemberIsSlow
    | MemberIsUnready
    | MemberLosesData
    | MemberComesBackOld
    | MemberShrinks
    | MemberLies
    | MemberFlaps
    | AgentIsKilled
    | Partition
    | CutOff
    | ControllersAreKilled
    | TwoLeaders
    | LeaderIsPaused
    | ApiServerIsKilled
    | ClockIsWrong
    | Storm
)
AnyStep = AnyUserStep | AnyFault


def read_history(text: str | bytes) -> History:
    """Raises: msgspec.ValidationError, which names the field."""
    return msgspec.json.decode(text, type=History)


def write_history(history: History) -> bytes:
    """As JSON, one step to a line."""
    return msgspec.json.format(msgspec.json.encode(history), indent=1)
