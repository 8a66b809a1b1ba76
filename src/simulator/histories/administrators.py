"""Administrators: they taint and drain clusters, keep them in git, write taint policies, policies above those of
others, and quotas, and have clusters leave and join."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, WorldError
from leeward.api.names import DRAIN_BUDGET_ANNOTATION, DRAIN_TAINT, NOT_READY_TAINT, binding_name
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.operations import OperationFailed
from leeward.operations.rollout import pause_rollout, resume_rollout, undo_rollout
from leeward.sim.member import SimulatedMember
from leeward.sim.world import World
from simulator.histories.manifests import NAMESPACE, POLICIES, QUOTA, QUOTAS, above, another_plan, quota
from simulator.histories.model import (
    AnyUserStep,
    Drain,
    GitWrite,
    LimitUsage,
    Maintain,
    Preempt,
    Rejoin,
    Retreat,
    SteerRollout,
    SyncClusters,
    TaintOnOutage,
    UnlimitUsage,
)
from simulator.histories.persistent_client import RETRY_SECONDS, PersistentClient

MAINTENANCE = "example.com/maintenance"
TENANT = "example.com/tenant"
GIT_TOOL = "git-tool"
MANIFESTS = Resource.of_manifests(CLUSTERS.api_version, CLUSTERS.plural, CLUSTERS.kind, CLUSTERS.namespaced)
"""Clusters as a tool reads and writes them, with fields that the control plane does not know."""
TAINT_POLICY = "no-execute-on-outage"

STEERING: Mapping[str, Callable[[Client, Sequence[tuple[str, str]], datetime], Awaitable[str]]] = {
    "pause": pause_rollout,
    "resume": resume_rollout,
    "undo": undo_rollout,
}


class Administrators(PersistentClient):
    """Administrators, who go by what they have asked for. `kind` is that of an application."""

    def __init__(self, world: World, kind: Callable[[str], Resource[Manifest]]) -> None:
        super().__init__(world)
        self._kind = kind
        self._above: set[str] = set()
        self._is_limited = False

    async def do(self, step: AnyUserStep) -> bool:
        """Returns when it is done, or was in vain; False where it is nothing for them."""
        match step:
            case Maintain(cluster=cluster):
                await self._taint_for(cluster, MAINTENANCE, step.lasts)
            case Drain(cluster=cluster):
                await self._taint_for(cluster, DRAIN_TAINT, step.lasts, str(step.budget) if step.budget else None)
            case SyncClusters():
                await self._sync_for(step)
            case TaintOnOutage():
                await self.create(CLUSTER_TAINT_POLICIES, _taint_policy(), "")
            case Rejoin(cluster=cluster):
                await self._rejoin(self.world.member(cluster))
            case _:
                return await self._rules(step)
        return True

    async def _rules(self, step: AnyUserStep) -> bool:
        match step:
            case Preempt(app=app, name=name):
                wanted = above(app, self._kind(app), step.plan, name, step.priority, step.preempts)
                await self._write(POLICIES, wanted, another_plan(wanted), known=name in self._above)
                self._above.add(name)
            case Retreat(name=name):
                self._above.discard(name)
                await self.delete(POLICIES, name)
            case LimitUsage():
                wanted = quota(step.cpu, step.assigned)
                await self._write(QUOTAS, wanted, {"spec": wanted["spec"]}, known=self._is_limited)
                self._is_limited = True
            case SteerRollout(app=app, wish=wish):
                place = (NAMESPACE, binding_name(self._kind(app).kind, app))
                with suppress(OperationFailed):
                    await self.insist(lambda: STEERING[wish](self.client, [place], self.world.clock.now()))
            case UnlimitUsage():
                self._is_limited = False
                await self.delete(QUOTAS, QUOTA)
            case _:
                return False
        return True

    async def _write(self, kind: Resource[Manifest], wanted: Manifest, patch: Manifest, *, known: bool) -> None:
        if known:
            await self.patch(kind, wanted["metadata"]["name"], patch)
        else:
            await self.create(kind, wanted)

    async def let_all_go(self) -> None:
        """Takes off what has been set for a while."""
        for name in self.world.members:
            for key in (MAINTENANCE, DRAIN_TAINT, TENANT):
                await self.insist(partial(self._taint, name, key, False, None))

    async def _taint_for(self, name: str, key: str, seconds: float, budget: str | None = None) -> None:
        await self.insist(lambda: self._taint(name, key, True, budget))
        await asyncio.sleep(seconds)
        await self.insist(lambda: self._taint(name, key, False, None))

    async def _taint(self, name: str, key: str, present: bool, budget: str | None) -> None:
        cluster = await self.client.get(CLUSTERS, name)
        taints: list[Manifest] = [to_wire(taint) for taint in cluster.spec.taints if taint.key != key]
        if present:
            taints.append({"key": key, "effect": "NoExecute"})
        patch: Manifest = {"spec": {"taints": taints}}
        if key == DRAIN_TAINT:
            patch["metadata"] = {"annotations": {DRAIN_BUDGET_ANNOTATION: budget}}
        version = cluster.metadata.resource_version
        await self.client.patch(CLUSTERS, name, patch, resource_version=version)

    async def _sync_for(self, step: SyncClusters) -> None:
        """Syncs again and again, whatever became of the sync before. In the end no taint is left in git."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + step.lasts
        while True:
            await self._sync(step)
            left = ends_at - loop.time()
            await asyncio.sleep(max(0.0, min(left, step.every or left)))
            if loop.time() >= ends_at:
                break
        for name in step.clusters if step.own else ():
            await self.insist(partial(self._taint, name, TENANT, False, None))

    async def _sync(self, step: SyncClusters) -> None:
        taints: list[Manifest] = [{"key": TENANT, "effect": "NoSchedule"}] if step.own else []
        for name in step.clusters:
            try:
                await self._apply(name, step.how, taints)
            except WorldError:
                continue

    async def _apply(self, name: str, how: GitWrite, taints: list[Manifest]) -> None:
        """Writes one Cluster that is there and stays: a file in git does not know how to join it."""
        found = await self.client.get(MANIFESTS, name)
        if "deletionTimestamp" in found["metadata"]:
            return
        identity = {"name": name, "uid": found["metadata"]["uid"]}
        match how:
            case "patch":
                await self.client.patch(MANIFESTS, name, {"spec": {"taints": taints}})
            case "put":
                version = {"resourceVersion": found["metadata"]["resourceVersion"]}
                wanted = {**found, "metadata": identity | version, "spec": {**found["spec"], "taints": taints}}
                await self.client.update(MANIFESTS, wanted, name)
            case "apply":
                spec = {"syncMode": found["spec"]["syncMode"], "taints": taints}
                await self.client.apply(MANIFESTS, {"metadata": identity, "spec": spec}, field_manager=GIT_TOOL)

    async def _rejoin(self, member: SimulatedMember) -> None:
        """Takes a cluster out and lets it join again. They wait as long as it takes: a Push cluster that is dead leaves
        when it is back."""
        if not await self.delete(CLUSTERS, member.name, ""):
            return
        await self._wait_until_gone(member.name)
        if member.mode == "Push":
            await self.insist(lambda: self.world.register(member, self.client))
        elif member.agent_is_up:
            await member.stop_agent()
            member.start_agent()

    async def _wait_until_gone(self, cluster: str) -> None:
        there = True
        while there:
            await asyncio.sleep(RETRY_SECONDS)
            there = await self.insist(lambda: self.client.get(CLUSTERS, cluster))


def _taint_policy() -> Manifest:
    """NoExecute with the outage, and no longer."""
    ready = {"conditionType": "Ready", "statusValues": ["True"]}
    return {
        "metadata": {"name": TAINT_POLICY},
        "spec": {
            "addOnConditions": [{**ready, "operator": "NotIn"}],
            "removeOnConditions": [{**ready, "operator": "In"}],
            "taints": [{"key": NOT_READY_TAINT, "effect": "NoExecute"}],
        },
    }
