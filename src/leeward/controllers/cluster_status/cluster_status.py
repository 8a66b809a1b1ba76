"""The cluster status controller of one member: probes it, and keeps its Cluster's status true.

Every member has its own, so that one that hangs delays no other (Holds: L4). A probe has a deadline, and a change of
`Ready` counts only after its threshold.

Karmada: pkg/controllers/status/cluster_status_controller.go; differs where docs/karmada-behaviour.md says so.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec

from controller_runtime import Trouble
from kubeapi.diff import status_patch
from kubeapi.errors import LocalFailure, NameNotFound
from kubeapi.quantity import Quantity, parse_quantity
from kubeclient import Conflict, NotFound, WorldError
from kubeclient.caller import CALLER
from leeward.api.cluster import Cluster, ClusterStatus
from leeward.api.meta import Condition, find_condition, put_condition, remove_condition, set_condition
from leeward.api.names import DOUBTFUL_CONDITION, NOT_OBSERVED_CONDITION, OUTDATED_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.controllers.cluster_status.cluster_facts import Facts, FactsCollector
from leeward.core.cluster_health.cluster_identity import with_identity
from leeward.core.cluster_health.outage import with_last_seen
from leeward.core.cluster_health.pending_condition import doubt_of, remembered, with_doubt
from leeward.core.cluster_health.probe import Probe, is_conclusive
from leeward.core.cluster_health.ready_condition import (
    HealthMemory,
    Thresholds,
    decide_ready,
    is_uncollected,
    missing_name,
    name_is_gone,
    not_observed,
    ready_condition,
    watched_memory,
    without_missed,
)
from leeward.core.cluster_health.summary import Summary
from leeward.core.cluster_health.watched_time import has_stepped
from leeward.core.hub_generation import HUB_FENCE_CONDITION, fence_condition
from leeward.runtime.cluster_probe import ClusterProbe
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.metrics import Amount, AmountKind

log = logging.getLogger(__name__)

_MEASURED: tuple[tuple[str, Amount], ...] = (("cpu", "cpu"), ("memory", "memory"), ("pods", "pod"))
"""The name of a resource, and its name in metrics."""
CONTROLLER = "cluster-status-controller"
WRITE_ATTEMPTS = 3
SHORTEST_PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class ClusterStatusSettings:
    """`modeling` is gate CustomizedClusterResourceModeling: whether nodes are counted by the cluster's models.

    `reads`: a probe asks for a small read, too, and not for the health endpoint alone. `identifies`: by that it is told
    whether the member was rebuilt.
    """

    frequency_seconds: float
    probe_timeout_seconds: float
    thresholds: Thresholds
    modeling: bool = True
    reads: bool = True
    identifies: bool = True


class Look(NamedTuple):
    """Findings of one look: what counts of `Ready`, what does not count yet, and what is known beside it."""

    ready: Condition
    doubt: Condition | None
    facts: Facts | None
    uid: str
    name_is_gone: Condition | None = None


class ClusterStatusController:
    def __init__(self, plane: ControlPlane, member: Member, settings: ClusterStatusSettings) -> None:
        self._plane = plane
        self._member = member
        self._settings = settings
        timeout_seconds = settings.probe_timeout_seconds
        self._probe = ClusterProbe(member.server.client, plane.lag, timeout_seconds, reads=settings.reads)
        part_seconds = settings.frequency_seconds + timeout_seconds
        self._facts = FactsCollector(plane, member, seconds=part_seconds, modeling=settings.modeling)
        self._clusters = plane.informers.of(CLUSTERS)
        self._memory: HealthMemory | None = None
        self._looked: tuple[datetime, float] | None = None
        self._has_missed = False
        """Tells whether it could not look since then."""
        self._measured: Summary | None = None

    def start(self) -> None:
        self._member.supervisor.start(self._run(), f"cluster-status/{self._member.name}")

    async def _run(self) -> None:
        CALLER.set(CONTROLLER)
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
        began, gone = self._instant(), None
        try:
            probe = await self._probe.ask()
        except LocalFailure as error:
            gone = self._name_is_gone(error)
            if gone is None:
                await self._could_not_look(error)
                return
            probe = Probe("unreachable")
        if not self._is_conclusive(began, healthy=probe.sight == "healthy"):
            return
        facts = await self._facts.collect() if probe.sight == "healthy" else None
        probe = self._facts.within_bounds(probe)
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
            self._facts.begin_anew()
            self._plane.failed_probes.failed(cluster.name, self._plane.clock.monotonic())
        uid = probe.uid if self._settings.identifies else ""
        look = Look(ready, doubt, facts if ready.status == "True" else None, uid, gone)
        await self._write(cluster, lambda found: self._status(found, look))

    async def _could_not_look(self, error: LocalFailure) -> None:
        """Says so. Nothing else becomes of it: the time since the last look counts for no threshold (S13)."""
        self._has_missed = True
        cluster = self._clusters.get(self._member.name)
        if cluster is None:
            return
        self._plane.metrics.cluster_uncollected.labels(cluster.name).set(True)
        log.warning("cluster %s: could not look: %s", cluster.name, error)
        condition = not_observed(str(error), is_missing_name=isinstance(error, NameNotFound))
        await self._write(cluster, lambda found: self._status_unseen(found, condition))

    def _name_is_gone(self, error: LocalFailure) -> Condition | None:
        """The condition that makes a look of a missing name count, if it does."""
        cluster = self._clusters.get(self._member.name)
        if cluster is None or not isinstance(error, NameNotFound):
            return None
        return name_is_gone(cluster, str(error), self._plane.clock.now())

    def _is_conclusive(self, began: tuple[datetime, float], *, healthy: bool) -> bool:
        """Tells whether the probe that began then counts: neither a stall of our own nor a step of the clock spoilt
        it."""
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
        if self._has_missed:
            self._has_missed = False
            memory, before = without_missed(memory, before, self._looked, settings.frequency_seconds)
        still = self._plane.lag.since(before[1])
        return watched_memory(
            memory, before, self._looked, longest, settings.frequency_seconds, settings.thresholds, still
        )

    async def _write(self, cluster: Cluster, status_of: Callable[[Cluster], ClusterStatus]) -> None:
        for _ in range(WRITE_ATTEMPTS):
            patch = status_patch(cluster.status, status_of(cluster))
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

    def _status_unseen(self, cluster: Cluster, condition: Condition) -> ClusterStatus:
        now, before = self._plane.clock.now(), cluster.status.conditions
        found = find_condition(before, NOT_OBSERVED_CONDITION)
        said = missing_name(found, condition, now, self._settings.frequency_seconds)
        conditions = set_condition(remove_condition(before, NOT_OBSERVED_CONDITION), said, now)
        return msgspec.structs.replace(cluster.status, conditions=conditions)

    def _status(self, cluster: Cluster, look: "Look") -> ClusterStatus:
        now, status, facts = self._plane.clock.now(), cluster.status, look.facts
        seen = put_condition(status.conditions, NOT_OBSERVED_CONDITION, look.name_is_gone, now)
        conditions = set_condition(with_doubt(seen, look.doubt, now), look.ready, now)
        conditions = with_last_seen(status.conditions, conditions, now)
        conditions = with_identity(cluster, conditions, look.uid, now)
        if (fence := self._member.fence) is not None:
            told = fence_condition(fence.problem, fence.untold, fence.unfenced)
            conditions = put_condition(conditions, HUB_FENCE_CONDITION, told, now)
        if facts is None:
            return msgspec.structs.replace(status, conditions=conditions)
        enablements = status.api_enablements if facts.offer is None else facts.offer.enablements
        complete = facts.offer is not None and not facts.offer.failed
        outdated = Condition(OUTDATED_CONDITION, "True", "NotFollowed", facts.outdated) if facts.outdated else None
        conditions = put_condition(conditions, OUTDATED_CONDITION, outdated, now)
        status = msgspec.structs.replace(
            status,
            kubernetes_version=facts.version or status.kubernetes_version,
            api_enablements=enablements,
            conditions=set_condition(conditions, _completeness(complete, bool(enablements)), now),
        )
        return status if facts.summary is None else self._with_capacity(status, facts.summary)

    def _with_capacity(self, status: ClusterStatus, summary: Summary) -> ClusterStatus:
        """Status with the member's capacity. Absurd numbers in it are told once, while they stay the same (S10)."""
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
