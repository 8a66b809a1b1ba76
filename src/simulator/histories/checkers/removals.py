"""S4: removals that were decided before the brake engaged. What was to go from a cluster while it was away stays there
as long as most of the fleet looks dead. What a person asks of a cluster that is there is done.
"""

from collections.abc import Iterator

from kubeapi.meta import Manifest
from leeward.api.names import BRAKE_NAME, cluster_of_execution_space
from leeward.api.work import Binding, Work
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.needs import is_of_an_earlier_template
from simulator.histories.checkers.restores import takes_away, work_of
from simulator.histories.checkers.scene import Scene, Violation, seconds_of, tasks_of
from simulator.histories.ground_truth import Change, owner_of

WHOLE_SECONDS = 1.0
"""A deletionTimestamp is cut down to these."""


class RemovalsChecker:
    """`_ready_since`: by cluster, when it became Ready; `_braked_since`: when the brake was engaged."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ready_since: dict[str, float] = {}
        self._braked_since: float | None = None

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/cluster.karmada.io/clusters/":
            self._note_cluster(change)
        elif change.key.name == BRAKE_NAME:
            self._note_brake(change)
        elif self._braked_since is not None and takes_away(self._scene, change):
            yield from self._removed(change, self._braked_since)

    def _note_cluster(self, change: Change) -> None:
        if change.new is not None and change.new.is_ready:
            self._ready_since.setdefault(change.key.name, change.seconds)
        else:
            self._ready_since.pop(change.key.name, None)

    def _note_brake(self, change: Change) -> None:
        if change.new is None or "since" not in change.new.get("data", {}):
            self._braked_since = None
        elif self._braked_since is None:
            self._braked_since = change.seconds

    def _removed(self, change: Change, braked_since: float) -> Iterator[Violation]:
        scene, member = self._scene, change.place
        work: Work | None = scene.truth.works.get(work_of(change.old))
        asked_at = work.metadata.deletion_timestamp if work is not None else None
        if work is None or asked_at is None or cluster_of_execution_space(work.namespace) != member:
            return
        parties = (CONTROLLERS, member) if member in scene.pulling else (CONTROLLERS,)
        if scene.was_leaving(member) or not scene.must_know(braked_since, *parties):
            return
        is_pending = seconds_of(asked_at) + WHOLE_SECONDS <= self._ready_since.get(member, float("inf"))
        is_pending = is_pending or work.is_held_since_away
        owner = owner_of(work)
        binding = scene.truth.any_binding(owner) if owner is not None else None
        if is_pending and binding is not None and not self._is_asked_for(binding, change.old):
            message = f"{change.key} in {member} was deleted while the brake is engaged since {braked_since:.1f}"
            yield Violation("S4", change.seconds, message)

    def _is_asked_for(self, binding: Binding, removed: Manifest) -> bool:
        """Tells whether a person has asked for it, whatever is known of the fleet; or it follows what is needed
        elsewhere."""
        is_going = binding.metadata.deletion_timestamp is not None or self._scene.truth.template_of(binding) is None
        is_going = is_going or is_of_an_earlier_template(removed, binding)
        purges = any(task.purge_mode == "Directly" for task in tasks_of(binding).values())
        follows = binding.spec.placement is None and not binding.spec.clusters
        return is_going or purges or follows or binding.spec.asks_for_none
