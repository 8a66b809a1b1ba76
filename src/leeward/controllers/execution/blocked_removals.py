"""Tells, on a Work, that its removal from the member does not come to an end: whose finalizer holds it up, or why the
member does not take the deletion."""

from collections.abc import Callable

from controller_runtime import key_of
from kubeapi.meta import Manifest
from leeward.api.meta import Condition
from leeward.api.work import Work
from leeward.core.execution.removal_conditions import removal_blocked, removal_refused
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.owner_index import OwnerIndex

BLOCKED_SECONDS = 30.0
"""A removal that has lasted for so long is held up: Pods have had their time to end."""


class BlockedRemovals:
    """Bounded by the Works of one member that are being deleted: `forget` those that are gone."""

    def __init__(
        self, plane: ControlPlane, member: Member, backlinks: OwnerIndex, post: Callable[[Work, Condition], None]
    ) -> None:
        self._plane = plane
        self._member = member
        self._backlinks = backlinks
        self._post = post
        self._since: dict[str, float] = {}

    async def goes_on(self, work: Work) -> None:
        """The removal is not at its end yet. Raises: WorldError."""
        if not self._lasts(work):
            return
        found = [await self._observed(manifest) for manifest in work.objects]
        blocked = removal_blocked([observed for observed in found if observed is not None])
        if blocked is not None:
            self._post(work, blocked)

    def is_refused(self, work: Work, why: str) -> None:
        """The member does not take the deletion; `why` names the object."""
        if self._lasts(work):
            self._post(work, removal_refused(why))

    def forget(self, name: str) -> None:
        self._since.pop(name, None)

    def _lasts(self, work: Work) -> bool:
        now = self._plane.clock.monotonic()
        return now - self._since.setdefault(work.name, now) >= BLOCKED_SECONDS

    async def _observed(self, manifest: Manifest) -> Manifest | None:
        """Object from the cache, which follows the kind."""
        try:
            resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        except UnknownKind:
            return None
        key = key_of(manifest)
        return self._backlinks.follow(resource).get(key.name, key.namespace)
