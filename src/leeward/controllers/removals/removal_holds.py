"""Removals that are held back: what `core.execution.removal` says of a Work, with what is known of the fleet now."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from controller_runtime import Index
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import REFLECTED_CONDITION, cluster_of_execution_space
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, Work, is_application
from leeward.controllers.removals.carriers import Carriers
from leeward.controllers.removals.returned_copies import dependants_of, placed_copies
from leeward.core.cluster_health.flap_damping import tolerating_hold_down
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.copies.availability import wanted_by_itself
from leeward.core.copies.disruption import NO_SIZES, copies_of
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.eviction.tasks import TaskReason, ended_by_a_person, reason_of
from leeward.core.eviction.withdrawal import would_be_considered
from leeward.core.execution.removal import NOT_REPLACED, goes_at_once, has_settled, settles_at, why_removal_waits
from leeward.core.execution.removal_conditions import STILL_USED
from leeward.core.execution.works import is_of_deleted_template, is_surplus
from leeward.core.scheduling.affinity import is_in_any_term
from leeward.core.scheduling.reschedule import placement_changed
from leeward.runtime.brake import BrakeView
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

FOLLOWS_WITHIN = timedelta(seconds=60)
"""Time after the return of a control plane in which its controllers may still write what they knew before."""

LOOK_AGAIN = timedelta(seconds=20)
"""Pause after which a held dependency is looked at again: its own binding does not hear of who needs it."""


class RemovalHolds:
    """`enabled` False: nothing is ever held, as in Karmada. Without a heartbeat somebody has always watched; without a
    brake it is never engaged."""

    def __init__(
        self,
        plane: ControlPlane,
        heartbeat: HeartbeatView | None = None,
        brake: BrakeView | None = None,
        *,
        enabled: bool = True,
    ) -> None:
        self.enabled = enabled
        self._clock = plane.clock
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._works = plane.informers.of(WORKS)
        self._carriers = Carriers(plane)
        self._removed = Index(self._works, _is_removed)
        self._heartbeat = heartbeat
        self._brake = brake

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        for view in (self._heartbeat, self._brake):
            if self.enabled and view is not None:
                await view.wait_synced()

    def on_change(self, look: Callable[[], None]) -> None:
        """Has this called when somebody watches again, and when the brake changes."""
        for view in (self._heartbeat, self._brake):
            if self.enabled and view is not None:
                view.on_change(look)

    @property
    def attention(self) -> Attention:
        return self._heartbeat.attention() if self.enabled and self._heartbeat is not None else UNKEPT

    def removals(self) -> Sequence[Work]:
        """Works that are being deleted, or wait for that."""
        return self._removed.get(True)

    @property
    def is_braked(self) -> bool:
        return self.enabled and self._brake is not None and self._brake.brake.engaged

    def is_doubtful(self, work: Work) -> bool:
        """Tells whether a Work whose binding is gone stays, because nobody watched for a while since it was made, or
        shortly before: a control plane that was restored from a backup may know less than who wrote it, and what it
        does not know runs on (decision 48). `leeward orphans` lists it. Holds: S5, S13."""
        made_at = work.metadata.creation_timestamp
        return made_at is not None and self.attention.time.has_gap_since(made_at - FOLLOWS_WITHIN)

    def preserves(self, binding: Binding, work: Work, present: Mapping[str, Work]) -> bool:
        """Tells whether the objects of a Work stay when its binding is deleted: as its policy asks. A copy that is
        surplus stays only as long as the law keeps it. Holds: S1."""
        spec, cluster = binding.spec, cluster_of_execution_space(work.namespace)
        if not spec.preserve_resources_on_deletion:
            return False
        copies = copies_of(spec, present, self._fleet, self._clock.now())
        return not is_surplus(spec, cluster) or not copies.may_disrupt({cluster: 0})

    def why_it_waits(
        self,
        binding: Binding,
        cluster: str,
        present: Mapping[str, Work],
        is_wanted: bool = False,
        needs: Mapping[str, int] = NO_SIZES,
        *,
        is_purged: bool = False,
    ) -> tuple[str, datetime | None]:
        """Reason for which the copy in `cluster`, which is not wanted there, does not go yet (`why_removal_waits`); and
        when to look again.

        What was made of a template that a user has deleted is not kept, whatever came after it under its name; nor is a
        copy whose eviction a person has ended.
        `is_wanted` there, and not to be had as it is to be: then it stays as it is (S14). One that `is_purged` goes at
        once while the reason of its eviction stands.
        """
        if not self.enabled or is_of_deleted_template(present[cluster], binding):
            return "", None
        if cluster in ended_by_a_person(binding.spec) or present[cluster].is_ended_by_a_person:
            return "", None
        if is_wanted or (is_purged and self._is_purge_due(binding, cluster, present[cluster])):
            return NOT_REPLACED if is_wanted else "", None
        why, look_at = self._ask(binding, cluster, present, needs)
        home = self._fleet.get(cluster)
        stays_in_fleet = home is not None and not home.is_being_deleted
        if not why and stays_in_fleet and not is_application(binding) and self._carriers.carries(present[cluster]):
            return STILL_USED, self._clock.now() + LOOK_AGAIN
        return why, look_at

    def _is_purge_due(self, binding: Binding, cluster: str, work: Work) -> bool:
        """Tells whether the cluster of a purged copy can be seen, and the copy is not to serve on there. An order that
        was given is not taken back. Holds: S1, S7."""
        home = self._fleet.get(cluster)
        if home is None or home.is_being_deleted:
            return True
        is_ordered = work.metadata.deletion_timestamp is not None
        return settles_at(home) is not None and (is_ordered or not self._may_return(binding, home, work))

    def _may_return(self, binding: Binding, home: Cluster, work: Work) -> bool:
        """Tells whether a copy may serve on whose cluster was away: withdrawal takes it back once it is seen whole.

        Nothing is made before a purged copy is gone, so one goes that cannot be taken back: another placement is asked
        for, the scheduler would not consider the cluster, or a look since its return does not call it whole.
        """
        spec = binding.spec
        tasks = [task for task in spec.graceful_eviction_tasks if task.from_cluster == home.metadata.name]
        was_away = work.is_held_since_away or TaskReason.TAINT_UNTOLERATED in map(reason_of, tasks)
        if not was_away or placement_changed(binding) or not is_in_any_term(spec, home):
            return False
        if decide_stay(home.taints, spec.tolerations, self._clock.now()).due is not None:
            return False
        if not all(would_be_considered(tolerating_hold_down(spec), task, home) for task in tasks):
            return False
        told = find_condition(work.status.conditions, REFLECTED_CONDITION)
        at, since = (each.last_transition_time if each is not None else None for each in (told, home.ready))
        row = copies_of(spec, {home.metadata.name: work}, self._fleet, self._clock.now()).rows[home.metadata.name]
        is_looked_at = at is not None and since is not None and at >= since
        return not is_looked_at or row.known.is_whole or bool(wanted_by_itself(work, home))

    def _ask(
        self, binding: Binding, cluster: str, present: Mapping[str, Work], needs: Mapping[str, int]
    ) -> tuple[str, datetime | None]:
        attention, now = self.attention, self._clock.now()
        dependants = [each for each in dependants_of(binding, self._bindings) if not each.spec.asks_for_none]
        needed_by = [placed_copies(each, self._works, self._fleet, now) for each in dependants]
        why = why_removal_waits(
            binding.spec,
            cluster,
            present,
            self._fleet,
            attention,
            now,
            needs=needs,
            brake=self.is_braked,
            needed_by=needed_by,
            at_once=goes_at_once(binding),
        )
        if not why:
            return "", None
        settles = settles_at(self._fleet[cluster])
        if settles is not None and not has_settled(self._fleet[cluster], now):
            return why, settles
        believed_at = copies_of(binding.spec, present, self._fleet, now).settles_at
        return why, attention.settles_at(now) or believed_at or (now + LOOK_AGAIN if needed_by else None)


def _is_removed(work: Work) -> bool | None:
    return work.metadata.deletion_timestamp is not None or work.is_leaving or None
