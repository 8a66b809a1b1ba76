"""Facts that one look at a healthy member collects for its Cluster's status: version, kinds and capacity."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from kubeapi import codec
from kubeapi.errors import TooLarge
from kubeapi.loop.offloading import run_beside
from kubeapi.text import shown
from leeward.api.cluster import ResourceModel
from leeward.api.core import Node, Pod
from leeward.api.resource import CLUSTERS, NODES, PODS
from leeward.client import Undecodable, Unreachable, WorldError
from leeward.core.cluster_health.probe import Probe
from leeward.core.cluster_health.summary import Summary, summarize
from leeward.runtime.discovery import Offer
from leeward.runtime.plane import ControlPlane, Member

log = logging.getLogger(__name__)

SYNC_SECONDS = 5.0
FEW = 2_000
"""Nodes and Pods that are counted on the loop."""
MAX_DETAIL, MAX_VERSION = 1024, 64
"""Letters of the condition's message, and of a version."""


class Facts(NamedTuple):
    """What one look at a healthy member found; an empty part could not be read."""

    version: str
    offer: Offer | None
    summary: Summary | None


class _Counted(NamedTuple):
    """What a summary is made of."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    models: tuple[ResourceModel, ...]


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


class FactsCollector:
    """`seconds`: how long one part may take; `modeling`: whether nodes are counted by the cluster's models."""

    def __init__(self, plane: ControlPlane, member: Member, *, seconds: float, modeling: bool) -> None:
        self._member = member
        self._seconds = seconds
        self._modeling = modeling
        self._clusters = plane.informers.of(CLUSTERS)
        self._summarized: tuple[_Counted, Summary] | None = None
        self._too_large: list[str] = []

    async def collect(self) -> Facts:
        """Version, kinds and capacity; what cannot be read is left out (an outage is not an absence).

        All of it is asked for at once, and not for longer than until the next probe is due and has its answer: what
        hangs here must not keep an outage from being seen.
        """
        self._too_large.clear()
        return Facts(*await asyncio.gather(self._read_version(), self._read_offer(), self._read_summary()))

    async def _read_version(self) -> str:
        try:
            async with self._collecting("version"):
                return await self._version()
        except WorldError as error:
            self._not_read("version", error)
            return ""

    async def _read_offer(self) -> Offer | None:
        try:
            async with self._collecting("kinds"):
                return await self._member.server.discovery.offer()
        except WorldError as error:
            self._not_read("kinds", error)
            return None

    def _not_read(self, what: str, error: WorldError) -> None:
        log.warning("%s of cluster %s: %s", what, self._member.name, error)
        if isinstance(error, TooLarge):
            self._too_large.append(f"{what}: {error}")

    def within_bounds(self, probe: Probe) -> Probe:
        """The probe of a member that also keeps to the bounds on what it answers, elsewhere too."""
        budget = self._member.server.informers.budget
        excess = "; ".join(filter(None, (*self._too_large, "" if budget is None else budget.excess)))
        return Probe("too large", excess[:MAX_DETAIL]) if excess and probe.sight == "healthy" else probe

    async def _read_summary(self) -> Summary | None:
        informers = self._member.server.informers
        nodes, pods = informers.of(NODES), informers.of(PODS)
        try:
            async with self._collecting("capacity"):
                await nodes.wait_synced(SYNC_SECONDS)
                await pods.wait_synced(SYNC_SECONDS)
        except Unreachable as error:
            log.warning("capacity of cluster %s: %s", self._member.name, error)
            return None
        cluster = self._clusters.get(self._member.name)
        models = () if cluster is None or not self._modeling else cluster.spec.resource_models
        return await self._summary(_Counted(tuple(nodes.list()), tuple(pods.list()), tuple(models)))

    @asynccontextmanager
    async def _collecting(self, what: str) -> AsyncGenerator[None, None]:
        """Raises: Unreachable when it takes longer than the time of one part."""
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            raise Unreachable(f"no {what} within {self._seconds:g} s") from None

    async def _summary(self, counted: _Counted) -> Summary:
        """Counted anew only when something to be counted is new: between two looks there seldom is.

        Of many, beside the loop.
        """
        if self._summarized is None or self._summarized[0] != counted:
            few = len(counted.nodes) + len(counted.pods) <= FEW
            self._summarized = counted, summarize(*counted) if few else await run_beside(summarize, *counted)
        return self._summarized[1]

    async def _version(self) -> str:
        response = await self._member.server.client.raw("GET", "/version")
        try:
            return shown(codec.decode(response.body, _Version).git_version, MAX_VERSION)
        except codec.DecodeError as error:
            raise Undecodable(f"/version: {error}") from error
