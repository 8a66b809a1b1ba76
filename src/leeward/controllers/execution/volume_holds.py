"""Holds on volumes in one member: nothing with volumes that was there before is made in a cluster that was rebuilt
under its name, until somebody confirms that (`core.cluster_health.cluster_identity`). Holds: S5.

The member itself is asked who it is before such an object is made: it may have been rebuilt since the last probe.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from controller_runtime import Key
from kubeapi.core import NAMESPACES
from kubeapi.meta import ReadOnlyManifest
from kubeclient import Forbidden, NotFound
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import VOLUMES_HELD_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.api.work import Work
from leeward.core.cluster_health.cluster_identity import is_held_back
from leeward.core.execution.held_volumes import REASON, has_volumes, held_in, is_held, why_held
from leeward.core.registration import IDENTIFYING_NAMESPACE
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.member_works import MemberWorks

LOOK_AGAIN = timedelta(seconds=60)
"""Pause after which the member is asked again who it is, for what is held back."""


class VolumesHeld(Exception):
    """Contents with volumes that are not made before somebody confirms that the cluster was rebuilt."""


class VolumeHolds:
    """`enabled` False: nothing is held back, as in Karmada."""

    def __init__(self, plane: ControlPlane, member: Member, works: MemberWorks, *, enabled: bool) -> None:
        self._plane = plane
        self._member = member
        self._works = works
        self._enabled = enabled
        self._held: set[str] = set()
        """Names of Works that are held back."""

    def start(self, add: Callable[[str], None]) -> None:
        """Adds the names of Works that are not held back any more."""

        def cluster_changed(old: Cluster | None, new: Cluster | None) -> None:
            if old is not None and new is not None and is_held_back(old, "") and not is_held_back(new, ""):
                for name in sorted(self._held):
                    add(name)

        clusters = self._plane.informers.of(CLUSTERS)
        self._member.supervisor.on_close(clusters.on_change(cluster_changed, Key("", self._member.name)))

    async def refuse(self, work: Work, manifest: ReadOnlyManifest) -> None:
        """Raises: VolumesHeld; WorldError where the member does not answer."""
        if not self._enabled or not has_volumes(manifest):
            return
        try:
            uid = (await self._member.server.client.get(NAMESPACES, IDENTIFYING_NAMESPACE)).metadata.uid
        except (NotFound, Forbidden):
            uid = ""
        cluster = self._works.cluster
        if cluster is None or is_held(work, cluster, uid):
            raise VolumesHeld(why_held(self._member.name))

    def note(self, work: Work, held: Sequence[str]) -> list[Condition]:
        """Takes in what of a Work is held back. Returns the condition that says so, or that it is over."""
        if held:
            self._held.add(work.name)
            return [Condition(VOLUMES_HELD_CONDITION, "True", REASON, "; ".join(held))]
        self.forget(work.name)
        return [] if held_in(work) is None else [Condition(VOLUMES_HELD_CONDITION, "False", "Made", "it is made now")]

    def forget(self, name: str) -> None:
        self._held.discard(name)

    def look_at(self, name: str) -> list[datetime]:
        """Instant at which to look at a Work again that is held back."""
        return [self._plane.clock.now() + LOOK_AGAIN] if name in self._held else []
