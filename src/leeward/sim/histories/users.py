"""Users: they want something, try until they get it, and do one thing after the other.

What they meddle with in a member is written down in `touched`, because there everything is allowed to them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from leeward.api.codec import to_wire
from leeward.api.meta import Manifest
from leeward.api.resource import CLUSTERS, Resource
from leeward.apiserver.inprocess import ADMIN
from leeward.client import Client, Forbidden, Invalid, NotFound, Unreachable, WorldError
from leeward.sim.histories import manifests
from leeward.sim.histories.manifests import NAMESPACE, POLICIES, REBALANCERS, kind_of
from leeward.sim.histories.model import (
    AnyUserStep,
    Deploy,
    Maintain,
    Meddle,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Rejoin,
    Release,
    Replan,
    Scale,
    Squat,
    Withdraw,
)
from leeward.sim.member import SimulatedMember
from leeward.sim.network import LinkedTransport
from leeward.sim.world import World

RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 400.0
MAINTENANCE = "example.com/maintenance"
USER = "user"


class Users:
    """All users of a world. `touched` are the (member, plural, name) that they have changed in a member by hand.

    They go by what they have asked for: a policy that they have deleted is not made again while it is still going.
    """

    def __init__(self, world: World, steps: tuple[AnyUserStep, ...]) -> None:
        self.touched: set[tuple[str, str, str]] = set()
        self._world = world
        self._client = Client(LinkedTransport(world.place, ADMIN), USER)
        self._configs = {step.app for step in steps if isinstance(step, Deploy | Squat) and step.config}
        self._plans: dict[str, Manifest] = {}
        self._serial = 0

    async def do(self, step: AnyUserStep) -> None:
        """Returns when it is done, or was in vain."""
        match step:
            case Deploy(app=app):
                await self._create(
                    kind_of(step.config), manifests.template(app, step.config, step.replicas, cpu=step.cpu)
                )
                await self._create_policy(app, manifests.policy(app, step.config, step.plan))
            case Scale(app=app):
                if app not in self._configs:
                    await self._patch(self._kind(app), app, {"spec": {"replicas": step.replicas}})
            case Release(app=app):
                await self._patch(self._kind(app), app, manifests.new_version(app, app in self._configs, step.version))
            case Replan(app=app):
                wanted = manifests.policy(app, app in self._configs, step.plan)
                if app in self._plans:
                    self._plans[app] = wanted
                spec = {**wanted["spec"], "failover": wanted["spec"].get("failover")}
                await self._patch(POLICIES, app, {"spec": spec})
            case _:
                await self._do_more(step)

    async def _do_more(self, step: AnyUserStep) -> None:
        match step:
            case Withdraw(app=app):
                self._plans.pop(app, None)
                await self._delete(POLICIES, app)
                await self._delete(self._kind(app), app)
            case Recreate(app=app):
                if await self._delete(self._kind(app), app):
                    await self._create(self._kind(app), manifests.template(app, app in self._configs, step.replicas))
            case RecreatePolicy(app=app):
                if app in self._plans and await self._delete(POLICIES, app):
                    await self._create_policy(app, self._plans[app])
            case Rebalance(app=app):
                await self._rebalance(app)
            case Maintain(cluster=cluster):
                await self._maintain(cluster, step.lasts)
            case Rejoin(cluster=cluster):
                await self._rejoin(self._world.member(cluster))
            case Meddle():
                await self._meddle(step)
            case Squat():
                await self._squat(step)
            case _:
                raise AssertionError(f"no user knows how to do {step}")

    def _kind(self, app: str) -> Resource[Manifest]:
        return kind_of(app in self._configs)

    async def _create_policy(self, app: str, wanted: Manifest) -> None:
        self._plans[app] = wanted
        await self._create(POLICIES, wanted)

    async def _create(self, resource: Resource[Any], manifest: Manifest, namespace: str = NAMESPACE) -> None:
        """Again, while an earlier one of the name is still going."""

        async def create() -> None:
            await self._client.create(resource, manifest, namespace)

        await self._try(create)

    async def _patch(self, resource: Resource[Any], name: str, patch: Manifest, namespace: str = NAMESPACE) -> None:
        await self._try(lambda: self._client.patch(resource, name, patch, namespace))

    async def _delete(self, resource: Resource[Any], name: str, namespace: str = NAMESPACE) -> bool:
        return await self._try(lambda: self._client.delete(resource, name, namespace))

    async def _try(self, action: Callable[[], Awaitable[object]]) -> bool:
        """Returns whether there was something to do it to, which an attempt without an answer may have done already."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        unanswered = False
        while True:
            try:
                await action()
                return True
            except NotFound:
                return unanswered
            except WorldError as error:
                unanswered = unanswered or isinstance(error, Unreachable)
                if isinstance(error, Invalid | Forbidden) or loop.time() > deadline:
                    return False
                await asyncio.sleep(RETRY_SECONDS)

    async def _rebalance(self, app: str) -> None:
        kind = self._kind(app)
        self._serial += 1
        workload = {"apiVersion": kind.api_version, "kind": kind.kind, "name": app, "namespace": NAMESPACE}
        wanted = {"metadata": {"name": f"rebalance-{self._serial}"}, "spec": {"workloads": [workload]}}
        await self._create(REBALANCERS, wanted, "")

    async def _maintain(self, name: str, seconds: float) -> None:
        await self._try(lambda: self._taint(name, True))
        await asyncio.sleep(seconds)
        await self._try(lambda: self._taint(name, False))

    async def _taint(self, name: str, present: bool) -> None:
        cluster = await self._client.get(CLUSTERS, name)
        taints: list[Manifest] = [to_wire(taint) for taint in cluster.spec.taints if taint.key != MAINTENANCE]
        if present:
            taints.append({"key": MAINTENANCE, "effect": "NoExecute"})
        version = cluster.metadata.resource_version
        await self._client.patch(CLUSTERS, name, {"spec": {"taints": taints}}, resource_version=version)

    async def _rejoin(self, member: SimulatedMember) -> None:
        """Users wait as long as it takes: a Push cluster that is dead leaves when it is back."""
        if not await self._delete(CLUSTERS, member.name, ""):
            return
        await self._wait_until_gone(member.name)
        if member.mode == "Push":
            await self._try(lambda: self._world.register(member, self._client))
        elif member.agent_is_up:
            await member.stop_agent()
            member.start_agent()

    async def _wait_until_gone(self, cluster: str) -> None:
        there = True
        while there:
            await asyncio.sleep(RETRY_SECONDS)
            there = await self._try(lambda: self._client.get(CLUSTERS, cluster))

    async def _meddle(self, step: Meddle) -> None:
        """Once, if the member answers: whoever meddles does not insist."""
        client = self._at(step.cluster)
        kind = self._kind(step.app)
        self.touched.add((step.cluster, kind.plural, step.app))
        try:
            if step.delete:
                await client.delete(kind, step.app, NAMESPACE)
                return
            copy = await client.get(kind, step.app, NAMESPACE)
            change: Manifest = {"metadata": {"labels": {"meddled": "true"}}}
            if "replicas" in copy.get("spec", {}):
                change["spec"] = {"replicas": copy["spec"]["replicas"] + 1}
            await client.patch(kind, step.app, change, NAMESPACE)
        except WorldError:
            return

    async def _squat(self, step: Squat) -> None:
        client = self._at(step.cluster)
        manifest = manifests.template(step.app, step.config, 1, version=99)
        manifest["metadata"]["labels"] = {"app": step.app, "owner": "someone-else"}
        try:
            await client.create(kind_of(step.config), manifest, NAMESPACE)
        except WorldError:
            return

    def _at(self, member: str) -> Client:
        return Client(LinkedTransport(self._world.member(member).place, ADMIN), USER)
