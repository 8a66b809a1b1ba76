"""Scene that all checkers look at, what they say, and what a history excuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from controller_runtime import Key
from leeward.api.cluster import Cluster
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBinding
from leeward.manager.timing import Timing
from simulator.histories.checkers.lateness import CONTROLLERS, Lateness, lateness_of, touched_by, undisturbed
from simulator.histories.checkers.losses import Loss, disturbances_of, losses_of, troubles_of
from simulator.histories.checkers.states import States
from simulator.histories.checkers.watch import Watch
from simulator.histories.ground_truth import GroundTruth
from simulator.histories.model import (
    ClockIsWrong,
    ControllersAreKilled,
    Fault,
    History,
    HubIsRestored,
    LeaderIsPaused,
    MemberComesBackOld,
    MemberLies,
    Rejoin,
    ShardIsPaused,
    Step,
    TwoLeaders,
)

RESTART_SECONDS = 10.0
"""Seconds until everybody works again who was stopped by a fault, behind its end."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""Beginning of the virtual clock."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold, when, and what was seen. `invariant` is an id of docs/invariants.md."""

    invariant: str
    seconds: float
    message: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.seconds:.3f} s: {self.message}"


@dataclass(slots=True)
class Scene:
    """`lateness`: when what is true must be known, beyond what the controllers' own periods explain.

    `skew_seconds`: how wrong clocks can be. `liars`: members whose words are false, at
    times; `lies` tells when. `forgotten`: until when Works have
    ended that nobody remembers, by members that come back with what they once held. `pulling`: members with an agent.
    `calm`: members that nothing is ever wrong with. `losses`: members that are gone for a while, and nothing else.
    `disturbed`: when the control plane itself has faults; `troubles`: when something is wrong with each member, or on
    the way to it. `watch`: when somebody watches.

    `evictions_per_second`: 0 without a limit. `touched`: what users changed in members by hand, as (member, plural,
    name).
    """

    truth: GroundTruth
    timing: Timing
    lateness: Lateness
    skew_seconds: float = 0.0
    liars: frozenset[str] = frozenset()
    lies: Mapping[str, tuple[tuple[float, float], ...]] = field(
        default_factory=dict[str, tuple[tuple[float, float], ...]]
    )
    forgotten: Mapping[str, float] = field(default_factory=dict[str, float])
    pulling: frozenset[str] = frozenset()
    calm: frozenset[str] = frozenset()
    losses: tuple[Loss, ...] = ()
    disturbed: tuple[tuple[float, float], ...] = ()
    troubles: Mapping[str, Sequence[tuple[float, float]]] = field(
        default_factory=dict[str, Sequence[tuple[float, float]]]
    )
    watch: Watch = field(default_factory=Watch)
    evictions_per_second: float = 0.0
    touched: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    autoscaled: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Replicas that the autoscaler of each member wants of each application, by (member, application)."""
    orphaned: set[tuple[str, Key]] = field(default_factory=set[tuple[str, Key]])
    """Works whose objects stay in a member without them, by that member. A control plane that was restored has
    forgotten them, or their cluster was unjoined and others may live in these objects."""
    forgotten_templates: set[str] = field(default_factory=set[str])
    """The uids of templates of which members hold copies, and of which a restored control plane knows nothing."""
    overtaken: set[Key] = field(default_factory=set[Key])
    """Works that were wanted when a control plane was restored, and that it was about to remove when its backup was
    taken."""
    restore: HubIsRestored | None = None
    """Restore of the history, if there is one."""
    restored_at: float = float("-inf")
    """Instant at which the control plane was restored last."""
    is_cleared: bool = False
    """Tells whether somebody has read what the control plane has forgotten, and had it deleted."""
    gone_since: dict[str, float] = field(default_factory=dict[str, float])
    """Instant at which the Cluster of each name was last seen being deleted or absent."""
    ended_at: dict[Key, float] = field(default_factory=dict[Key, float])
    """Instant at which the Work of each name was gone."""
    policy_changed_at: dict[tuple[str, Key], float] = field(default_factory=dict[tuple[str, Key], float])
    """Instant at which each policy came to ask for what it asks for, by how its key begins."""
    claimed_at: dict[tuple[str, Key], float] = field(default_factory=dict[tuple[str, Key], float])
    """Instant at which each template came to belong to the policy that has claimed it."""
    contents: dict[tuple[str, Key], States[bytes]] = field(default_factory=dict[tuple[str, Key], States[bytes]])
    """Contents that users have written of each template."""

    @property
    def is_restored(self) -> bool:
        """Tells whether the control plane knows less than it did once, and nobody has put that right yet."""
        return self.restored_at > float("-inf") and not self.is_cleared

    @property
    def knows_more(self) -> bool:
        """Tells whether somebody may still know more than the control plane does, which was restored."""
        return self.is_restored and not self.must_know(self.followed_at)

    @property
    def followed_at(self) -> float:
        """Instant from which there were controllers again that follow the control plane which was restored last."""
        return self.restored_at + (self.restore.controllers_after if self.restore is not None else 0.0)

    def goes_on(self, member: str) -> bool:
        """Tells whether who asks the member goes on over a restore: its agent, or the controllers."""
        return member in self.pulling or (self.restore is not None and self.restore.controllers_stay)

    def must_know(self, since: float, *who: str) -> bool:
        """Tells whether all of them, the controllers where nobody is named, must know by now what became true at
        `since`."""
        return self.truth.now() > self.lateness.due(since, *(who or (CONTROLLERS,)))

    def is_forgotten(self, member: str, work: Key) -> bool:
        """Tells whether nobody can know that what the member has brought back of a Work was removed already."""
        return member in self.forgotten and self.ended_at.get(work, float("-inf")) <= self.forgotten[member]

    def is_orphan(self, member: str, work: Key) -> bool:
        """Tells whether somebody has to read first what the member holds of a Work that is gone."""
        return (member, work) in self.orphaned or self.is_forgotten(member, work)

    def evidence_since(self, name: str, at: float | None = None) -> float:
        """Instant from which health may be that a decision rests on: a member that died is still Ready for a while.

        `at`: when the member was last seen, as what is said of it says; now, where that says nothing.
        """
        timing = self.timing
        probe = timing.cluster_status_update_frequency + timing.cluster_probe_timeout
        silence = max(timing.cluster_failure_threshold + 2 * probe, timing.cluster_monitor_grace_period + probe)
        seen = self.truth.now() if at is None else min(self.truth.now(), at - self.skew_seconds)
        return self.lateness.oldest(seen - silence, CONTROLLERS, name)

    def may_lie(self, name: str) -> bool:
        """Tells whether what is known of a member now may be a lie of it."""
        since, now = self.evidence_since(name), self.truth.now()
        return any(begin <= now and end >= since for begin, end in self.lies.get(name, ()))

    def beside(self, binding: Binding) -> list[ResourceBinding]:
        """The others of a group that moves together."""
        group, uid = binding.metadata.annotations.get(MOVES_WITH_ANNOTATION), binding.metadata.uid
        others = [each for each in self.truth.bindings.values() if each.metadata.uid != uid]
        return [each for each in others if group and each.metadata.annotations.get(MOVES_WITH_ANNOTATION) == group]

    def cluster(self, name: str) -> Cluster | None:
        return self.truth.clusters.get(name)

    def was_leaving(self, name: str) -> bool:
        """Tells whether the cluster is being deleted or not there, or was, a moment ago."""
        cluster = self.cluster(name)
        if cluster is None or cluster.is_being_deleted:
            return True
        return name in self.gone_since and not self.must_know(self.gone_since[name])


def _forgotten(history: History, member: str) -> float:
    """Seconds after which what works in the member has forgotten what it removed there: it remembers for as long as it
    lives (L3).

    An agent stops with its member; the controllers work in a Push member until they end, or it leaves.
    """
    if any(isinstance(step, Rejoin) and step.cluster == member for step in history.steps):
        return float("inf")
    if dict(history.members).get(member) == "Pull":
        own = [step for step in history.steps if isinstance(step, Fault) and touched_by(step) == member]
        return max(step.ends_at for step in own) + RESTART_SECONDS
    restarts = ControllersAreKilled | TwoLeaders | LeaderIsPaused | ShardIsPaused
    ended = [step.ends_at for step in history.steps if isinstance(step, restarts)]
    ended += [step.ends_at for step in history.steps if isinstance(step, HubIsRestored) and not step.controllers_stay]
    return max(ended, default=float("-inf"))


def _lies(steps: Sequence[Step]) -> dict[str, tuple[tuple[float, float], ...]]:
    """Times in which each member lies; its own controllers tell the truth again a moment later."""
    lies: dict[str, tuple[tuple[float, float], ...]] = {}
    for step in steps:
        if isinstance(step, MemberLies):
            lies[step.member] = (*lies.get(step.member, ()), (step.at, step.ends_at + RESTART_SECONDS))
    return lies


def tasks_of(binding: Binding) -> dict[str, GracefulEvictionTask]:
    return {task.from_cluster: task for task in binding.spec.graceful_eviction_tasks}


def replicas_of(binding: Binding) -> dict[str, int]:
    return {target.name: target.replicas for target in binding.spec.clusters}


def covers(binding: Binding, clusters: dict[str, int]) -> bool:
    """Tells whether these targets are all that the binding asks for."""
    if not clusters:
        return False
    return not binding.spec.is_divided or sum(clusters.values()) >= binding.spec.replicas


def seconds_of(instant: datetime) -> float:
    """Seconds since the world began."""
    return (instant - EPOCH).total_seconds()


def scene_of(history: History, timing: Timing, truth: GroundTruth) -> Scene:
    """Scene of what a history excuses, and no more."""
    steps = history.steps
    return Scene(
        truth,
        timing,
        lateness_of(history),
        skew_seconds=max([abs(step.seconds) for step in steps if isinstance(step, ClockIsWrong)], default=0.0),
        liars=frozenset(step.member for step in steps if isinstance(step, MemberLies)),
        lies=_lies(steps),
        forgotten={
            step.member: _forgotten(history, step.member) for step in steps if isinstance(step, MemberComesBackOld)
        },
        pulling=frozenset(name for name, mode in history.members if mode == "Pull"),
        calm=undisturbed(history),
        losses=losses_of(history),
        disturbed=disturbances_of(history),
        troubles=troubles_of(history),
        evictions_per_second=history.evictions_per_second,
        restore=next((step for step in steps if isinstance(step, HubIsRestored)), None),
    )
