"""Fence of a hub in a member: the member's Namespace `kube-system` says which generation of the hub it obeys.

The generation is compared whenever that Namespace is read, which probes do anyhow. A hub that took over writes its
generation there before it writes anything else; so an older one is refused from its next look on.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus

import msgspec

from kubeapi import codec
from kubeapi.core import NAMESPACES
from kubeapi.errors import LocalFailure, Unreachable, WorldError
from kubeapi.transport import Request, Response, Transport
from leeward.core import hub_generation
from leeward.core.hub_generation import Generation, UnreadableGeneration
from leeward.core.registration import IDENTIFYING_NAMESPACE
from leeward.runtime.server_identity import ServerIdentity

log = logging.getLogger(__name__)

OWN_SECONDS = 2.0
"""Time for a look at the own generation, where a member has met a newer one than is known of it."""
_AGAIN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
"""Refusals that say nothing of the mark. By any other one the member takes none: it works on, unfenced."""
WRITE_SECONDS = 10.0
TRY_AGAIN_SECONDS = 60.0
"""Pause before a member that has refused a mark is given it again."""
ATTEMPTS = 3
PATH = NAMESPACES.path(name=IDENTIFYING_NAMESPACE)
_QUESTION = Request("GET", PATH, headers={"accept": "application/json"})
_PATCH = {"content-type": "application/merge-patch+json", "accept": "application/json"}


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class FoundNamespace(msgspec.Struct, frozen=True):
    """The Namespace by which a cluster is known, as far as it tells who that is and which hub it obeys."""

    metadata: _Metadata = _Metadata()

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata.annotations or {}


def namespace_in(response: Response) -> FoundNamespace | None:
    """The Namespace in an answer; None where it says nothing of that."""
    if response.code != HTTPStatus.OK:
        return None
    try:
        return codec.decode(response.body, FoundNamespace)
    except codec.DecodeError:
        return None


class HubFence:
    """`server` is the control plane that acts. Where its identity may not be read, nothing is told apart.

    `problem` says why nothing is done in the member, `untold` why nothing is written there now, and `unfenced` why an
    older hub is not refused there.
    """

    def __init__(self, server: ServerIdentity) -> None:
        self._server = server
        self.problem = ""
        self.untold = ""
        self.unfenced = ""
        self._refused, self._again_at = hub_generation.NEVER, 0.0
        """The generation of which the member has refused the mark, and when that is tried again."""

    async def look(self, found: FoundNamespace, member: Transport) -> str:
        """The reason why nothing is done in a member that says this; empty when the hub may act there.

        A member that has met an older generation is told first. Raises: Unreachable, when that is not known to be done.
        """
        try:
            self.problem, self.untold = await self._look(found, member), ""
        except LocalFailure:
            raise
        except Unreachable as error:
            self.problem, self.untold = "", str(error)
            raise
        return self.problem

    def unseen(self, code: int) -> None:
        """Takes in that the member does not tell which hub it obeys."""
        with suppress(UnreadableGeneration):
            if self._server.known and self._server.generation > hub_generation.NEVER:
                self._is_unfenced(f"GET {PATH}: HTTP {code}; its account needs the verbs get and patch for that")

    def _is_unfenced(self, why: str) -> None:
        if not self.unfenced:
            log.warning("an older hub that comes back is not refused: %s", why)
        self.unfenced = why

    async def _look(self, found: FoundNamespace, member: Transport) -> str:
        for _ in range(ATTEMPTS):
            hub = await self._hub(afresh=False)
            if not hub:
                self._is_unfenced(f"this account may not read {PATH} of the control plane: it needs the verb get there")
                return ""
            try:
                fences = hub_generation.fences_of(found.annotations)
                met = fences.get(hub, hub_generation.NEVER)
                if met > self._server.generation:
                    await self._hub(afresh=True)
                own = self._server.generation
            except UnreadableGeneration as error:
                return str(error)
            if met >= own:
                self.unfenced = ""
                return hub_generation.problem_of_generation(own, met)
            if hub not in fences and len(fences) >= hub_generation.MOST_HUBS:
                self._is_unfenced(
                    f"it bears the marks of {hub_generation.MOST_HUBS} hubs: take those that are gone off {PATH}"
                )
                return ""
            if self._refused == own and asyncio.get_running_loop().time() < self._again_at:
                return ""
            self._refused = hub_generation.NEVER
            told = await self._tell(found, {**fences, hub: own}, own, member)
            if told is None:
                return ""
            found = told
        raise Unreachable(f"{PATH} changes all the time, so that the generation of this hub cannot be written there")

    async def _hub(self, *, afresh: bool) -> str:
        """Identity of the hub. Raises: LocalFailure before the hub has told it: that says nothing of the member.

        A probe never waits for a hub that has answered once: a slow hub is no silence of a member. Whoever writes a
        Work has asked the hub within a minute (`member_works.py`).
        """
        if self._server.known and not afresh:
            return self._server.known
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(OWN_SECONDS if self._server.has_answered else None):
                    return await self._server.read(afresh=afresh)
        except WorldError as error:
            raise LocalFailure(f"the generation of this hub cannot be read: {error}") from error
        return self._server.known

    async def _tell(
        self, found: FoundNamespace, fences: Mapping[str, Generation], own: Generation, member: Transport
    ) -> FoundNamespace | None:
        """Writes the generation. Returns the Namespace as it is now where somebody else has changed it meanwhile; None
        when it is written, or may not be. Raises: Unreachable."""
        metadata = {
            "annotations": {hub_generation.HUB_FENCE_ANNOTATION: hub_generation.render_fences(fences)},
            "resourceVersion": found.metadata.resource_version,
        }
        request = Request("PATCH", PATH, headers=_PATCH, body=codec.encode({"metadata": metadata}))
        response = await member.send(request, timeout_seconds=WRITE_SECONDS)
        if response.code == HTTPStatus.OK:
            self.unfenced = ""
            return None
        if 400 <= response.code < 500 and response.code not in _AGAIN:
            self._refused, self._again_at = own, asyncio.get_running_loop().time() + TRY_AGAIN_SECONDS
            self._is_unfenced(
                f"it takes no mark (PATCH {PATH}: HTTP {response.code}); its account needs the verb patch for that"
            )
            return None
        now = None
        if response.code == HTTPStatus.CONFLICT:
            now = namespace_in(await member.send(_QUESTION, timeout_seconds=WRITE_SECONDS))
        if now is None:
            raise Unreachable(
                f"PATCH {PATH}: HTTP {response.code}, so nothing is written there before it takes the generation of "
                "this hub; look at its admission webhooks"
            )
        return now
