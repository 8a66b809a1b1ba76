"""Kinds that a member does not serve: in which other version it does, and from when on a kind counts as gone.

A member that has just returned serves some kinds later than it says that it is ready: a kind is gone when every
complete look at all kinds has missed it for a while, since the cluster became Ready. "Could not ask" is no look.
Holds: S5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kubeclient import Undecodable
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.member_works import MemberWorks

GONE_SECONDS = 30.0
"""Seconds for which a kind is missed before it counts as gone."""
REST_SECONDS = 5.0
"""Seconds between two looks at what one member serves for one kind, whoever asks."""


@dataclass(frozen=True, slots=True)
class _Missed:
    """First and latest of the looks that have all missed a kind; `ready_since` is the cluster's at that time."""

    first: float
    latest: float
    ready_since: datetime | None


class MissingKinds:
    def __init__(self, plane: ControlPlane, member: Member, works: MemberWorks) -> None:
        self._clock = plane.clock
        self._member = member
        self._works = works
        self._missed: dict[tuple[str, str], _Missed] = {}

    def rests(self, api_version: str, kind: str) -> bool:
        """Tells whether the kind was missed a moment ago, and need not be looked for again yet."""
        known = self._known(api_version, kind)
        return known is not None and self._clock.monotonic() - known.latest < REST_SECONDS

    async def versions(self, api_version: str, kind: str) -> Sequence[str]:
        """API versions in which the member serves the kind now; that it serves none is noted.

        Raises: WorldError when the member's kinds cannot all be asked for.
        """
        offer = await self._member.server.discovery.offer()
        if offer.failed:
            raise Undecodable(f"the kinds of {', '.join(offer.failed)} cannot be read")
        versions = offer.versions_of(api_version.rpartition("/")[0], kind)
        if versions:
            self._missed.pop((api_version, kind), None)
            return versions
        known, now = self._known(api_version, kind), self._clock.monotonic()
        first = known.first if known is not None else now
        self._missed[api_version, kind] = _Missed(first, now, self._works.ready_since)
        return ()

    def is_gone(self, api_version: str, kind: str) -> bool:
        """Tells whether the kind, which was just missed, has been for long enough."""
        known = self._known(api_version, kind)
        return known is not None and known.latest - known.first >= GONE_SECONDS

    def _known(self, api_version: str, kind: str) -> _Missed | None:
        """Looks that are still worth something: nobody knows what was served since the latest one but for a while."""
        known = self._missed.get((api_version, kind))
        if known is None or known.ready_since != self._works.ready_since:
            return None
        return known if self._clock.monotonic() - known.latest < GONE_SECONDS else None
