"""Users: they want something, try until they get it, and do one thing after the other.

Administrators and neighbours are users, too; who a step is for, it says itself.
"""

import asyncio
from collections.abc import Collection
from functools import partial

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import binding_name
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.sim.world import World
from simulator.histories import manifests
from simulator.histories.administrators import Administrators
from simulator.histories.maintainers import Maintainers
from simulator.histories.manifests import BATCHES, DATABASES, NAMESPACE, POLICIES, REBALANCERS, TASKS, kind_of
from simulator.histories.model import (
    AnyUserStep,
    Deploy,
    Operated,
    Provide,
    Provided,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Relabel,
    Release,
    Replan,
    Scale,
    Share,
    Shared,
    Squat,
    Suspend,
    Unshare,
    Withdraw,
)
from simulator.histories.neighbours import Neighbours
from simulator.histories.persistent_client import PersistentClient


class Users(PersistentClient):
    """All users of a world. `touched` are the (member, plural, name) that they have changed in a member by hand.

    They go by what they have asked for: a policy that they have deleted is not made again while it is still going.
    `_plans` are the policies that they want now, `_last_plans` also those of applications that they have deleted, which
    a restored backup may bring back.
    """

    def __init__(self, world: World, steps: tuple[AnyUserStep, ...]) -> None:
        super().__init__(world)
        self._configs = {step.app for step in steps if isinstance(step, Deploy | Squat) and step.config}
        self._shared: dict[str, Shared] = {step.app: step.what for step in steps if isinstance(step, Share)}
        self._plans: dict[str, Manifest] = {}
        self._last_plans: dict[str, Manifest] = {}
        self._serial = 0
        self._administrators = Administrators(world, self._kind)
        known: dict[str, Provided] = {step.name: step.what for step in steps if isinstance(step, Provide)}
        self._scripted = {step.app for step in steps if isinstance(step, Deploy) and step.scripted}
        self._tasks = {step.app: step for step in steps if isinstance(step, Deploy) and step.job}
        self._operated: dict[str, Operated] = {
            step.app: step.operated for step in steps if isinstance(step, Deploy) and step.operated
        }
        self._autoscaled = {step.app for step in steps if isinstance(step, Deploy) and step.autoscaled}
        self._maintainers = Maintainers(world, self._kind, known)
        self._neighbours = Neighbours(world, self._configs, self._shared)
        self.touched, self.autoscaled = self._neighbours.touched, self._neighbours.autoscaled

    async def do(self, step: AnyUserStep) -> None:
        """Returns when it is done, or was in vain."""
        for doing in (
            self._deploy,
            self._change,
            self._replace,
            self._share,
            self._maintainers.do,
            self._administrators.do,
        ):
            if await doing(step):
                return
        assert await self._neighbours.do(step), f"no user knows how to do {step}"

    async def _deploy(self, step: AnyUserStep) -> bool:
        match step:
            case Deploy(app=app):
                if step.operated:
                    await self._maintainers.define(DATABASES)
                self._maintainers.names(app, step.reads)
                wanted = self._template(app, step.replicas, cpu=step.cpu)
                policy = manifests.policy(app, self._kind(app), step.plan)
                if step.plan.lazy:
                    await self._create_policy(app, policy)
                await self.create(self._kind(app), wanted)
                if not step.plan.lazy:
                    await self._create_policy(app, policy)
            case Replan(app=app):
                wanted = manifests.policy(app, self._kind(app), step.plan)
                if app in self._plans:
                    self._plans[app] = self._last_plans[app] = wanted
                await self.patch(POLICIES, app, manifests.another_plan(wanted))
            case _:
                return False
        return True

    async def _change(self, step: AnyUserStep) -> bool:
        match step:
            case Scale(app=app):
                if app not in {*self._configs, *self._tasks, *self._operated}:
                    await self.patch(self._kind(app), app, {"spec": {"replicas": step.replicas}})
            case Release(app=app):
                if app not in {*self._tasks, *self._operated}:
                    await self.patch(
                        self._kind(app), app, manifests.new_version(app, app in self._configs, step.version, step.bad)
                    )
            case Relabel(app=app):
                await self.patch(self._kind(app), app, {"metadata": {"labels": {"told": str(step.value)}}})
            case Rebalance(app=app):
                await self._rebalance(app)
            case Suspend():
                await self._suspend(step)
            case _:
                return False
        return True

    async def _replace(self, step: AnyUserStep) -> bool:
        match step:
            case Withdraw(app=app):
                self._plans.pop(app, None)
                await self.delete(POLICIES, app)
                await self.delete(self._kind(app), app)
            case Recreate(app=app):
                if await self.delete(self._kind(app), app):
                    await self.create(self._kind(app), self._template(app, step.replicas))
            case RecreatePolicy(app=app):
                if app in self._plans and await self.delete(POLICIES, app):
                    await self._create_policy(app, self._plans[app])
            case _:
                return False
        return True

    async def _share(self, step: AnyUserStep) -> bool:
        match step:
            case Share(app=app, what=what):
                resource, manifest, namespace = manifests.shared(app, what)
                await self.create(resource, manifest, namespace)
                policies, policy = manifests.shared_policy(app, what, step.clusters, step.groups)
                await self.create(policies, policy, namespace)
            case Unshare(app=app):
                resource, manifest, namespace = manifests.shared(app, self._shared[app])
                await self.delete(manifests.policies_of(self._shared[app]), app, namespace)
                await self.delete(resource, manifest["metadata"]["name"], namespace)
            case _:
                return False
        return True

    def _kind(self, app: str) -> Resource[Manifest]:
        if app in self._tasks:
            return TASKS[self._tasks[app].job]
        if app in self._operated:
            return DATABASES
        return BATCHES if app in self._scripted else kind_of(app in self._configs)

    def _template(self, app: str, replicas: int, cpu: int = 1) -> Manifest:
        if app in self._tasks:
            return manifests.task(app, self._tasks[app].job, self._tasks[app].seconds)
        if app in self._operated:
            return manifests.database(app, self._operated[app])
        made = manifests.template(app, app in self._configs, replicas, cpu=cpu)
        if app in self._autoscaled:
            made = manifests.autoscaled(made)
        return manifests.with_volumes(made, self._maintainers.volumes(app))

    async def _create_policy(self, app: str, wanted: Manifest) -> None:
        self._plans[app] = self._last_plans[app] = wanted
        await self.create(POLICIES, wanted)

    async def _suspend(self, step: Suspend) -> None:
        for suspended in (True, None):
            if step.what == "dispatching":
                await self.patch(POLICIES, step.app, {"spec": {"suspension": {"dispatching": suspended}}})
            else:
                name = binding_name(self._kind(step.app).kind, step.app)
                await self.patch(RESOURCE_BINDINGS, name, {"spec": {"suspension": {"scheduling": suspended}}})
            await self._touch_if_lazy(step.app, "suspended" if suspended else "resumed")
            if suspended:
                await asyncio.sleep(step.lasts)

    async def _touch_if_lazy(self, app: str, why: str) -> None:
        """A lazy policy takes effect when its template changes."""
        if self._last_plans.get(app, {}).get("spec", {}).get("activationPreference") == "Lazy":
            await self.patch(self._kind(app), app, {"metadata": {"labels": {"touched": why}}})

    async def let_all_go(self) -> None:
        """Undoes what was suspended, drained or tainted when a backup was taken: it is so again, and nobody wants it
        any more."""
        await self._administrators.let_all_go()
        await self._maintainers.let_all_go()
        for app in self._last_plans:
            await self.patch(POLICIES, app, {"spec": {"suspension": {"dispatching": None}}})
            await self._touch_if_lazy(app, "restored")
            name = binding_name(self._kind(app).kind, app)
            await self.patch(RESOURCE_BINDINGS, name, {"spec": {"suspension": {"scheduling": None}}})

    async def let_all_rest(self, beyond: Collection[str]) -> None:
        """Suspends CronJobs, when all is over: a world that starts something each minute is never quiet. So it does in
        members `beyond` its reach: those that left while they were away, and those with orphans of a restored hub."""
        patch = {"spec": {"suspend": True}}
        for app in (name for name, task in self._tasks.items() if task.job == "CronJob"):
            kind = self._kind(app)
            await self.patch(kind, app, patch)
            for member in beyond:
                there = self.world.member(member).client
                await self.insist(partial(there.patch, kind, app, patch, NAMESPACE))

    async def _rebalance(self, app: str) -> None:
        kind = self._kind(app)
        self._serial += 1
        workload = {"apiVersion": kind.api_version, "kind": kind.kind, "name": app, "namespace": NAMESPACE}
        wanted = {"metadata": {"name": f"rebalance-{self._serial}"}, "spec": {"workloads": [workload]}}
        await self.create(REBALANCERS, wanted, "")
