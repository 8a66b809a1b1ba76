"""L2: what runs in a cluster that is lost leaves it in time, or says why it does not.

Lost is what a fault has stopped, whatever the control plane thinks of it. The bound is that of the timings: until the
silence is noticed, the taint set, and tolerated. A fault on the way starts it anew when it is over, and so does a user,
or what has held it back.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, NOT_READY_TAINT, UNREACHABLE_TAINT
from leeward.api.work import ResourceBinding
from simulator.histories.checkers.lateness import ENDLESS
from simulator.histories.checkers.losses import Loss
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.ground_truth import Change

SECONDS = 15.0
"""Seconds for retries, for a write that waits for others, and for a status that is told a little later."""
LOOK_SECONDS = 1.0


class FailoversChecker:
    """`_since`: when each binding got a target, or was last changed by its user, by binding and cluster."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._since: dict[tuple[Key, str], float] = {}
        self._opened: dict[tuple[Key, str], float] = {}
        self._look_at = 0.0

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/work.karmada.io/resourcebindings/":
            self._note(change)
        return iter(())

    def overdue(self, now: float) -> Iterator[Violation]:
        """Finds what should have happened by now; to be asked again and again, also while nothing changes."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        for key, binding in self._scene.truth.bindings.items():
            if self._is_excused(binding):
                self._begin_anew(now, key)
            else:
                yield from self._stays(now, key, binding)
                yield from self._lingers(now, key, binding)

    def _note(self, change: Change) -> None:
        old: ResourceBinding | None = change.old
        new: ResourceBinding | None = change.new
        afresh = old is None or new is None or _wish(old) != _wish(new)
        for known, names in (
            (self._since, replicas_of(new) if new is not None else {}),
            (self._opened, tasks_of(new) if new is not None else {}),
        ):
            for key, name in [pair for pair in known if pair[0] == change.key]:
                if afresh or name not in names:
                    del known[key, name]
            for name in names:
                known.setdefault((change.key, name), change.seconds)

    def _begin_anew(self, now: float, binding: Key) -> None:
        for known in (self._since, self._opened):
            known.update({pair: now for pair in known if pair[0] == binding})

    def _is_excused(self, binding: ResourceBinding) -> bool:
        """Tells whether it says why, or need not."""
        brake = self._scene.truth.brake
        scheduled = find_condition(binding.status.conditions, "Scheduled")
        return (
            binding.metadata.deletion_timestamp is not None
            or (brake is not None and "since" in brake.get("data", {}))
            or find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) is not None
            or (scheduled is not None and scheduled.status == "False")
        )

    def _stays(self, now: float, key: Key, binding: ResourceBinding) -> Iterator[Violation]:
        for loss in self._scene.losses:
            since = self._since.get((key, loss.member))
            if since is None or not loss.begin <= now < loss.end:
                continue
            due = self._due(loss, max(since, loss.begin), self._patience(binding))
            if now > due:
                message = (
                    f"{key} is still in {loss.member}, which is lost since {loss.begin:.1f}; it was due at {due:.1f}"
                )
                yield Violation("L2", now, f"{message}, and nothing says why")
                self._since[key, loss.member] = now

    def _lingers(self, now: float, key: Key, binding: ResourceBinding) -> Iterator[Violation]:
        """An eviction ends, or says why it does not, when its grace is over."""
        for loss in self._scene.losses:
            opened = self._opened.get((key, loss.member))
            if opened is None or not loss.begin <= now < loss.end:
                continue
            grace = tasks_of(binding)[loss.member].grace_period_seconds
            due = self._due(
                loss, opened, SECONDS + (self._scene.timing.graceful_eviction_timeout if grace is None else grace)
            )
            if now > due:
                yield Violation("L2", now, f"{key} leaves {loss.member} since {opened:.1f}, and nothing says why")
                self._opened[key, loss.member] = now

    def _patience(self, binding: ResourceBinding) -> float:
        """Seconds from the loss of a cluster until a binding has left it, at the latest."""
        timing = self._scene.timing
        look = timing.cluster_status_update_frequency + timing.cluster_probe_timeout
        noticed = max(timing.cluster_failure_threshold + 2 * look, timing.cluster_monitor_grace_period + look)
        rate = self._scene.evictions_per_second
        turns = len(self._scene.truth.bindings) * len(self._scene.truth.clusters) / rate if rate else 0.0
        return noticed + timing.failover_eviction_timeout + _toleration(binding) + turns + SECONDS

    @staticmethod
    def _due(loss: Loss, since: float, patience: float) -> float:
        due = since + patience
        for begin, end in loss.disturbed:
            if begin < due and end > since:
                due = max(due, end + patience)
        return due


def _wish(binding: ResourceBinding) -> object:
    return binding.metadata.uid, binding.spec.placement, binding.spec.replicas, binding.spec.reschedule_triggered_at


def _toleration(binding: ResourceBinding) -> float:
    """The longest that it tolerates a cluster that is lost; without end where it says no time."""
    found = [0.0]
    for toleration in binding.spec.tolerations:
        if toleration.key in (NOT_READY_TAINT, UNREACHABLE_TAINT, ""):
            seconds = toleration.toleration_seconds
            found.append(ENDLESS if seconds is None else float(seconds))
    return max(found)
