"""The cluster status controller of one member: probes it, and keeps its Cluster's status true.

Every member has its own, so that one that hangs delays no other (Holds: L4). A probe has a deadline, and a change of
`Ready` counts only after its threshold.

Karmada: pkg/controllers/status/cluster_status_controller.go; differs where BEHAVIOUR section 2 says so.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec

from kubeapi import codec
from kubeapi.diff import status_patch
from kubeapi.errors import TooLarge
from kubeapi.loop.offloading import run_beside
from kubeapi.quantity import Quantity, parse_quantity
from kubeapi.text import shown
from leeward.api.cluster import Cluster, ClusterStatus, ResourceModel
from leeward.api.core import Node, Pod
from leeward.api.meta import Condition, find_condition, remove_condition, set_condition
from leeward.api.names import DOUBTFUL_CONDITION
from leeward.api.resource import CLUSTERS, NODES, PODS
from leeward.client import Conflict, NotFound, Undecodable, Unreachable, WorldError
from leeward.core.failover.doubt import doubt_of, remembered, with_doubt
from leeward.core.failover.health import (
    HealthMemory,
    Thresholds,
    decide_ready,
    is_uncollected,
    ready_condition,
    watched_memory,
)
from leeward.core.failover.outage import with_last_seen
from leeward.core.failover.probe import Probe, is_conclusive
from leeward.core.failover.watched_time import has_stepped
from leeward.core.summary import Summary, summarize
from leeward.runtime.cluster_probe import ClusterProbe
from leeward.runtime.discovery import Offer
from leeward.runtime.metrics import Amount, AmountKind
from leeward.runtime.plane import ControlPlane, Member
from leeward.runtime.retrying import Trouble

log = logging.getLogger(__name__)

SYNC_SECONDS = 5.0
_MEASURED: tuple[tuple[str, Amount], ...] = (("cpu", "cpu"), ("memory", "memory"), ("pods", "pod"))
"""The name of a resource, and its name in metrics."""
WRITE_ATTEMPTS = 3
SHORTEST_PAUSE_SECONDS = 0.01
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


@dataclass(frozen=True, slots=True)
class ClusterStatusSettings:
    """`modeling` is gate CustomizedClusterResourceModeling: whether nodes are counted by the cluster's models.

    `reads`: a probe asks for a small read, too, and not for the health endpoint alone.
    """

    frequency_seconds: float
    probe_timeout_seconds: float
    thresholds: Thresholds
    modeling: bool = True
    reads: bool = True


class ClusterStatusController:
    def __init__(self, plane: ControlPlane, member: Member, settings: ClusterStatusSettings) -> None:
        self._plane = plane
        self._member = member
        self._settings = settings
        timeout_seconds = settings.probe_timeout_seconds
        self._probe = ClusterProbe(member.server.client, plane.lag, timeout_seconds, reads=settings.reads)
        self._clusters = plane.informers.of(CLUSTERS)
        self._memory: HealthMemory | None = None
        self._looked: tuple[datetime, float] | None = None
        self._summarized: tuple[_Counted, Summary] | None = None
        self._measured: Summary | None = None
        self._too_large: list[str] = []

    def start(self) -> None:
        self._member.supervisor.start(self._run(), f"cluster-status/{self._member.name}")

    async def _run(self) -> None:
        trouble = Trouble(log, f"status of cluster {self._member.name}")
        while True:
            started = self._plane.clock.monotonic()
            try:
                await self.observe_once()
                trouble.is_over()
            except WorldError as error:
                trouble.tell(error)
            except Exception:
                log.exception("status of cluster %s: the observation failed", self._member.name)
            elapsed = self._plane.clock.monotonic() - started
            self._plane.metrics.sync_status_seconds.labels(self._member.name).observe(elapsed)
            await asyncio.sleep(max(self._settings.frequency_seconds - elapsed, SHORTEST_PAUSE_SECONDS))

    async def observe_once(self) -> None:
        """One probe, one decision, at most one write. Raises: WorldError when the control plane does not answer."""
        await self._clusters.wait_synced()
        began = self._instant()
        probe = await self._probe.ask()
        if not self._is_conclusive(began, healthy=probe.sight == "healthy"):
            return
        self._too_large.clear()
        facts = await self._collect() if probe.sight == "healthy" else None
        probe = self._within_bounds(probe)
        cluster = self._clusters.get(self._member.name)
        if cluster is None:
            return
        observed = ready_condition(probe.sight, probe.detail)
        now = self._plane.clock.now()
        if self._memory is None:
            self._memory = remembered(cluster, now, self._settings.thresholds, self._settings.frequency_seconds)
        self._memory = self._watched(self._memory)
        self._memory, ready = decide_ready(self._memory, observed, cluster.ready, now, self._settings.thresholds)
        doubt = None if self._memory is None else doubt_of(self._memory, observed, ready)
        self._plane.metrics.cluster_ready.labels(cluster.name).set(ready.status == "True")
        self._plane.metrics.cluster_uncollected.labels(cluster.name).set(is_uncollected(ready))
        if probe.sight != "healthy":
            self._plane.looks.failed(cluster.name, self._plane.clock.monotonic())
        await self._write(cluster, ready, doubt, facts if ready.status == "True" else None)

    def _is_conclusive(self, began: tuple[datetime, float], *, healthy: bool) -> bool:
        """Whether the probe that began then counts: neither a stall of our own nor a step of the clock spoilt it."""
        now, timeout_seconds = self._instant(), self._settings.probe_timeout_seconds
        still = self._plane.lag.since(began[1])
        return not has_stepped(began, now) and is_conclusive(
            healthy=healthy, seconds=now[1] - began[1], stood_still_seconds=still, timeout_seconds=timeout_seconds
        )

    def _instant(self) -> tuple[datetime, float]:
        return self._plane.clock.now(), self._plane.clock.monotonic()

    def _watched(self, memory: HealthMemory | None) -> HealthMemory | None:
        """The memory, as far as it was watched since the last look: no pause, stall, or step of the clock counts."""
        before, self._looked = self._looked, self._instant()
        settings = self._settings
        longest = settings.frequency_seconds + 2 * settings.probe_timeout_seconds
        if memory is None or before is None:
            return memory
        still = self._plane.lag.since(before[1])
        return watched_memory(
            memory, before, self._looked, longest, settings.frequency_seconds, settings.thresholds, still
        )

    async def _collect(self) -> Facts:
        """Version, kinds and capacity; what cannot be read is left out (an outage is not an absence).

        All of it is asked for at once, and not for longer than until the next probe is due and has its answer: what
        hangs here must not keep an outage from being seen.
        """
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

    def _within_bounds(self, probe: Probe) -> Probe:
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
        models = () if cluster is None or not self._settings.modeling else cluster.spec.resource_models
        return await self._summary(_Counted(tuple(nodes.list()), tuple(pods.list()), tuple(models)))

    @asynccontextmanager
    async def _collecting(self, what: str) -> AsyncGenerator[None, None]:
        """Raises: Unreachable when it takes longer than a frequency and the time-out of a probe."""
        seconds = self._settings.frequency_seconds + self._settings.probe_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise Unreachable(f"no {what} within {seconds:g} s") from None

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

    async def _write(self, cluster: Cluster, ready: Condition, doubt: Condition | None, facts: Facts | None) -> None:
        for _ in range(WRITE_ATTEMPTS):
            patch = status_patch(cluster.status, self._status(cluster.status, ready, doubt, facts))
            if not patch:
                return
            try:
                updated = await self._plane.client.patch(
                    CLUSTERS,
                    cluster.name,
                    patch,
                    subresource="status",
                    resource_version=cluster.metadata.resource_version,
                )
            except Conflict:
                cluster = await self._plane.client.get(CLUSTERS, cluster.name)
            except NotFound:
                return
            else:
                self._clusters.remember(updated)
                return

    def _status(
        self, status: ClusterStatus, ready: Condition, doubt: Condition | None, facts: Facts | None
    ) -> ClusterStatus:
        now = self._plane.clock.now()
        conditions = set_condition(with_doubt(status.conditions, doubt, now), ready, now)
        conditions = with_last_seen(status.conditions, conditions, now)
        if facts is None:
            return msgspec.structs.replace(status, conditions=conditions)
        enablements = status.api_enablements if facts.offer is None else facts.offer.enablements
        complete = facts.offer is not None and not facts.offer.failed
        status = msgspec.structs.replace(
            status,
            kubernetes_version=facts.version or status.kubernetes_version,
            api_enablements=enablements,
            conditions=set_condition(conditions, _completeness(complete, bool(enablements)), now),
        )
        return status if facts.summary is None else self._with_capacity(status, facts.summary)

    def _with_capacity(self, status: ClusterStatus, summary: Summary) -> ClusterStatus:
        """With the member's capacity. Absurd numbers in it are told once, for as long as they stay the same (S10)."""
        self._measure(summary)
        conditions = remove_condition(status.conditions, DOUBTFUL_CONDITION)
        if summary.doubts:
            doubtful = Condition(DOUBTFUL_CONDITION, "True", "AbsurdNumbers", summary.doubts)
            conditions = set_condition(status.conditions, doubtful, self._plane.clock.now())
            before = find_condition(status.conditions, DOUBTFUL_CONDITION)
            if before is None or before.message != summary.doubts:
                log.warning("cluster %s reports absurd numbers: %s", self._member.name, summary.doubts)
        return msgspec.structs.replace(
            status, conditions=conditions, node_summary=summary.nodes, resource_summary=summary.resources
        )

    def _measure(self, summary: Summary) -> None:
        if summary is self._measured:
            return
        self._measured = summary
        self._plane.metrics.cluster_nodes.labels(self._member.name).set(summary.nodes.total_num)
        self._plane.metrics.cluster_ready_nodes.labels(self._member.name).set(summary.nodes.ready_num)
        kinds: tuple[tuple[AmountKind, Mapping[str, Quantity]], ...] = (
            ("allocatable", summary.resources.allocatable),
            ("allocated", summary.resources.allocated),
        )
        for kind, amounts in kinds:
            for resource, name in _MEASURED:
                amount = float(parse_quantity(amounts.get(resource, 0)))
                self._plane.metrics.amount(self._member.name, name, kind, amount)


def _completeness(complete: bool, any_known: bool) -> Condition:
    """The condition CompleteAPIEnablements."""
    status, reason, message = (
        ("True", "Complete", "collected API enablements completely")
        if complete
        else ("False", "Partial", "some API enablements could not be collected; the known ones are kept")
        if any_known
        else ("False", "Empty", "no API enablements could be collected")
    )
    return Condition(type="CompleteAPIEnablements", status=status, reason=reason, message=message)
