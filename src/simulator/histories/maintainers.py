"""Maintainers: users who say how applications differ from one cluster to the other, and what they name."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.sim.world import World
from simulator.histories.manifests import BATCHES, CLUSTER_POLICIES, NAMESPACE, SHARED
from simulator.histories.model import (
    AnyUserStep,
    BreakOverride,
    BreakScript,
    Explain,
    Override,
    Provide,
    Provided,
    Read,
    Unoverride,
)
from simulator.histories.named_objects import PROVIDED, contents, provided, provided_policy, volumes
from simulator.histories.overriding import override_spec, overrides_of
from simulator.histories.persistent_client import PersistentClient
from simulator.histories.scripted import (
    CUSTOMIZATION,
    CUSTOMIZATIONS,
    customization,
    definition,
    policy_of_definition,
)


class Maintainers(PersistentClient):
    """Maintainers, who go by what they have asked for. `kind` is that of an application, `known` is what can be
    named."""

    def __init__(self, world: World, kind: Callable[[str], Resource[Manifest]], known: Mapping[str, Provided]) -> None:
        super().__init__(world)
        self._kind = kind
        self._explained: Explain | None = None
        self._known = known
        self._made: set[str] = set()
        self._reads: dict[str, tuple[str, ...]] = {}
        self._overrides: dict[tuple[bool, str], Override] = {}

    async def do(self, step: AnyUserStep) -> bool:
        """Returns when it is done, or was in vain; False where it is nothing for them."""
        match step:
            case Override():
                await self._override(step)
            case BreakOverride(wide=wide, name=name):
                if (wide, name) in self._overrides:
                    await self._rewrite(wide, name, broken=True)
                    await asyncio.sleep(step.lasts)
                    await self._rewrite(wide, name)
            case Unoverride(wide=wide, name=name):
                if self._overrides.pop((wide, name), None) is not None:
                    await self.delete(overrides_of(wide), name, "" if wide else NAMESPACE)
            case Explain():
                await self._explain(step)
            case BreakScript():
                if self._explained is not None:
                    await self._rewrite_scripts(step)
                    await asyncio.sleep(step.lasts)
                    await self._rewrite_scripts()
            case Provide():
                await self._provide(step)
            case Read(app=app):
                self.names(app, step.reads)
                template = {"spec": {"volumes": self.volumes(app) or None}}
                await self.patch(self._kind(app), app, {"spec": {"template": template}})
            case _:
                return False
        return True

    def names(self, app: str, reads: tuple[str, ...]) -> None:
        """Notes that the template names these."""
        self._reads[app] = tuple(name for name in reads if name in self._known)

    def volumes(self, app: str) -> list[dict[str, Any]]:
        return volumes(self._reads.get(app, ()), self._known)

    async def let_all_go(self) -> None:
        """Mends once more what was broken when a backup was taken: it is so again."""
        for wide, name in self._overrides:
            await self._rewrite(wide, name)
        if self._explained is not None:
            await self._rewrite_scripts()

    async def _explain(self, step: Explain) -> None:
        known, self._explained = self._explained, step
        if known is not None:
            await self._rewrite_scripts()
            return
        await self.create(CUSTOMIZATIONS, customization(step.version), "")
        await self.define(BATCHES)

    async def define(self, kind: Resource[Manifest]) -> None:
        """Makes the kind known to all clusters, once."""
        if kind.plural in self._made:
            return
        self._made.add(kind.plural)
        await self.create(SHARED["CustomResourceDefinition"], definition(kind), "")
        await self.create(CLUSTER_POLICIES, policy_of_definition(kind, list(self.world.members)), "")

    async def _rewrite_scripts(self, step: BreakScript | None = None) -> None:
        version = self._explained.version if self._explained is not None else 1
        scripts = customization(version) if step is None else customization(version, step.question, step.trouble)
        await self.patch(CUSTOMIZATIONS, CUSTOMIZATION, {"spec": scripts["spec"]}, "")

    async def _provide(self, step: Provide) -> None:
        kind = PROVIDED[step.what]
        if step.name in self._made:
            await self.patch(kind, step.name, contents(step.what, step.version))
            return
        self._made.add(step.name)
        await self.create(kind, provided(step.name, step.what, step.version))
        if step.clusters:
            await self.create(*provided_policy(step.name, step.what, step.clusters))

    async def _override(self, step: Override) -> None:
        known = (step.wide, step.name) in self._overrides
        self._overrides[step.wide, step.name] = step
        if known:
            await self._rewrite(step.wide, step.name)
        else:
            policy = {"metadata": {"name": step.name}, "spec": self._spec(step)}
            await self.create(overrides_of(step.wide), policy, "" if step.wide else NAMESPACE)

    async def _rewrite(self, wide: bool, name: str, *, broken: bool = False) -> None:
        step = self._overrides.get((wide, name))
        if step is not None:
            patch = {"spec": self._spec(step, broken=broken)}
            await self.patch(overrides_of(wide), name, patch, "" if wide else NAMESPACE)

    def _spec(self, step: Override, *, broken: bool = False) -> dict[str, object]:
        kind = self._kind(step.app)
        size = step.replicas
        return override_spec(
            step.name, step.app, kind, step.version, step.clusters, wide=step.wide, broken=broken, replicas=size
        )
