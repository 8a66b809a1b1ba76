"""Faults of a history: members, their agents, the ways between parties, and the control plane itself."""

from typing import Literal

from simulator.histories.step import Fault


class MemberStops(Fault, frozen=True, kw_only=True):
    member: str


class MemberIsKilled(Fault, frozen=True, kw_only=True):
    """Death of a member's API server, `steps` awaits after its time."""

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
    """Stop of a member that comes back empty."""

    member: str


class MemberComesBackOld(Fault, frozen=True, kw_only=True):
    """Stop of a member half-way, which comes back with what it held when the step began."""

    member: str


class MemberShrinks(Fault, frozen=True, kw_only=True):
    """Restart of a member with fewer nodes, and again with all of them."""

    member: str
    nodes: int


class NodesAreCordoned(Fault, frozen=True, kw_only=True):
    """New Pods find no node in the member; what runs there runs on."""

    member: str


class MemberRefusesWrites(Fault, frozen=True, kw_only=True):
    """Refusal by a member, which answers reads and /readyz, and every write with this status: a full disk, a quota."""

    member: str
    code: Literal[403, 500] = 500


class MemberLies(Fault, frozen=True, kw_only=True):
    """Lies of a member, whose Deployments claim absurd numbers of ready replicas, and its nodes absurd capacity."""

    member: str


class MemberFlaps(Fault, frozen=True, kw_only=True):
    """Flapping of a member, which is cut off from everybody and back again every `period` seconds."""

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


class HubIsSuspended(Fault, frozen=True, kw_only=True):
    """The controllers stand still, as on a virtual machine that is suspended, and go on where they were."""


class TwoLeaders(Fault, frozen=True, kw_only=True):
    """A second set of controllers works beside the first."""


class LeaderIsPaused(Fault, frozen=True, kw_only=True):
    """Two replicas compete for the lease, in place of the controllers; the one that leads is stopped `after` seconds
    later, and goes on `pause_seconds` after that in the middle of what it did."""

    after: float
    pause_seconds: float


class ShardIsPaused(Fault, frozen=True, kw_only=True):
    """A leader and two shards work in place of the controllers, each beside another candidate for its lease. The one
    that `who` names (`leader`, `shard 0`, `shard 1`) is stopped `after` seconds later, and goes on `pause_seconds`
    after that in the middle of what it did. `undivided`: the other candidate for the leader's lease leaves nothing to
    shards."""

    who: str
    after: float
    pause_seconds: float
    undivided: bool = False


class ApiServerIsKilled(Fault, frozen=True, kw_only=True):
    """`power_cut`: writes that are not synced are gone."""

    steps: int = 0
    power_cut: bool = False


class HubIsRestored(Fault, frozen=True, kw_only=True):
    """The control plane's store goes back to what it held when the step began, as `leeward restore` of a backup does.

    Its API server is gone for the last `down_seconds` of what it `lasts`, and with it the controllers, which begin
    `controllers_after` seconds after it, unless `controllers_stay`. Whoever holds the lease has lost it by then.
    """

    down_seconds: float = 20.0
    controllers_stay: bool = False
    controllers_after: float = 0.0

    @property
    def down_at(self) -> float:
        return self.back_at - self.down_seconds

    @property
    def back_at(self) -> float:
        """Instant at which the API server answers again; the fault is over when the controllers run, too."""
        return self.at + self.lasts

    @property
    def ends_at(self) -> float:
        return self.back_at + self.controllers_after


class ClockIsWrong(Fault, frozen=True, kw_only=True):
    """The clock of the controllers or of an agent is `seconds` ahead."""

    who: str
    seconds: float


class Storm(Fault, frozen=True, kw_only=True):
    """Network faults on the way from `who` to `whom`: the fields are those of `FaultProfile`."""

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


AnyFault = (
    MemberStops
    | MemberIsKilled
    | MemberHangs
    | MemberIsSlow
    | MemberIsUnready
    | MemberLosesData
    | MemberComesBackOld
    | MemberShrinks
    | NodesAreCordoned
    | MemberRefusesWrites
    | MemberLies
    | MemberFlaps
    | AgentIsKilled
    | Partition
    | CutOff
    | ControllersAreKilled
    | HubIsSuspended
    | TwoLeaders
    | LeaderIsPaused
    | ShardIsPaused
    | ApiServerIsKilled
    | HubIsRestored
    | ClockIsWrong
    | Storm
)
