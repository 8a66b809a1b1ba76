"""Facts that one look at a healthy member collects for its Cluster's status: version, kinds and capacity."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import NamedTuple

import msgspec

from controller_runtime import Reflector
from kubeapi import codec
from kubeapi.errors import TooLarge
from kubeapi.meta import format_time
from kubeapi.text import shown
from kubeclient import Undecodable, Unreachable, WorldError
from leeward.api.counted import COUNTED_NODES, COUNTED_PODS
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.probe import Probe
from leeward.core.cluster_health.summary import Summary
from leeward.planning.node_table import NodeTable
from leeward.planning.pod_table import PodTable
from leeward.planning.usage_summary import UsageSummary
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.discovery import Offer

log = logging.getLogger(__name__)

SYNC_SECONDS = 5.0
OUTDATED_SECONDS = 60.0
"""Seconds for which Nodes or Pods cannot be followed before the summary is told to be old: a watch breaks now and
then."""
UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""The Pods that count."""
SERVER_SECONDS = 60.0
"""Seconds for which a server's version and core kinds are not asked for again, unless it was away meanwhile: others
come only with a server that was begun anew. A kind that is installed comes with the groups, of which each look asks."""
MAX_DETAIL, MAX_VERSION = 1024, 64
"""Letters of the condition's message, and of a version."""


class Facts(NamedTuple):
    """Findings of one look at a healthy member; an empty part could not be read.

    `outdated` says of what age the summary is, where it is not of now.
    """

    version: str
    offer: Offer | None
    summary: Summary | None
    outdated: str = ""


class _Followed(NamedTuple):
    """Tables that a summary is made of."""

    nodes: Reflector[NodeTable]
    pods: Reflector[PodTable]


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


class FactsCollector:
    """`seconds`: how long one part may take; `modeling`: whether nodes are counted by the cluster's models."""

    def __init__(self, plane: ControlPlane, member: Member, *, seconds: float, modeling: bool) -> None:
        self._plane = plane
        self._member = member
        self._seconds = seconds
        self._modeling = modeling
        self._clusters = plane.informers.of(CLUSTERS)
        self._followed: _Followed | None = None
        self._usage = UsageSummary()
        self._silent_since: dict[str, str] = {}
        """Instants since which kinds cannot be followed, by kind."""
        self._too_large: list[str] = []
        self._server_asked: float | None = None
        """Monotonic instant at which version and core kinds were last asked for, while the member has not been away."""
        self._version = ""

    def begin_anew(self) -> None:
        """Takes in that the member was not well: another server may answer next."""
        self._server_asked = None

    async def collect(self) -> Facts:
        """Version, kinds and capacity; what cannot be read is left out (an outage is not an absence).

        All of it is asked for at once, and not for longer than until the next probe is due and has its answer: what
        hangs here must not keep an outage from being seen.
        """
        self._too_large.clear()
        now = self._plane.clock.monotonic()
        anew = self._server_asked is None or now - self._server_asked >= SERVER_SECONDS
        if anew:
            self._server_asked, self._version = now, ""
        found = await asyncio.gather(self._read_version(), self._read_offer(core_anew=anew), self._read_summary())
        return Facts(*found, outdated=self._outdated())

    async def _read_version(self) -> str:
        if not self._version:
            try:
                async with self._collecting("version"):
                    self._version = await self._ask_version()
            except WorldError as error:
                self._not_read("version", error)
        return self._version

    async def _read_offer(self, *, core_anew: bool) -> Offer | None:
        try:
            async with self._collecting("kinds"):
                return await self._member.server.discovery.offer(core_anew=core_anew)
        except WorldError as error:
            self._not_read("kinds", error)
            self._server_asked = None
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
        """Reads the summary, which costs what has changed since the last one. What cannot be followed is as it was told
        last."""
        nodes, pods = self._follow()
        try:
            async with self._collecting("capacity"):
                node_table = await nodes.synced(SYNC_SECONDS)
                pod_table = await pods.synced(SYNC_SECONDS)
        except Unreachable as error:
            log.warning("capacity of cluster %s: %s", self._member.name, error)
            return None
        cluster = self._clusters.get(self._member.name)
        models = () if cluster is None or not self._modeling else cluster.spec.resource_models
        await self._plane.turns.finish(self._usage.catch_up(node_table, pod_table, models))
        return self._usage.summary(node_table, pod_table, models)

    def _follow(self) -> _Followed:
        """Begins with the first look."""
        if self._followed is None:
            informers = self._member.server.informers
            self._followed = _Followed(
                informers.reflect(COUNTED_NODES, NodeTable), informers.reflect(COUNTED_PODS, PodTable, UNFINISHED)
            )
        return self._followed

    def _outdated(self) -> str:
        """Words for since when Nodes or Pods cannot be followed. The instant is that of the first look that found it
        so."""
        now = self._plane.clock.monotonic()
        silent: list[str] = []
        for each in self._followed or ():
            since = each.health.failing_since
            if since is None or now - since < OUTDATED_SECONDS:
                self._silent_since.pop(each.resource.plural, None)
                continue
            instant = self._plane.clock.now() - timedelta(seconds=now - since)
            told = self._silent_since.setdefault(each.resource.plural, format_time(instant))
            silent.append(f"{each.resource.plural} cannot be followed (since {told})")
        return "; ".join(silent)

    @asynccontextmanager
    async def _collecting(self, what: str) -> AsyncGenerator[None, None]:
        """Raises: Unreachable when it takes longer than the time of one part."""
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            raise Unreachable(f"no {what} within {self._seconds:g} s") from None

    async def _ask_version(self) -> str:
        response = await self._member.server.client.raw("GET", "/version")
        try:
            return shown(codec.decode(response.body, _Version).git_version, MAX_VERSION)
        except codec.DecodeError as error:
            raise Undecodable(f"/version: {error}") from error
