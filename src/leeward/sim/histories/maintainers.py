"""Maintainers: users who say how applications differ from one cluster to the other."""

import asyncio
from collections.abc import Collection

from leeward.sim.histories.manifests import NAMESPACE
from leeward.sim.histories.model import AnyUserStep, BreakOverride, Override, Unoverride
from leeward.sim.histories.overriding import override_spec, overrides_of
from leeward.sim.histories.wishing import Wishing
from leeward.sim.world import World


class Maintainers(Wishing):
    """They go by what they have asked for. `configs` are the applications that are ConfigMaps."""

    def __init__(self, world: World, configs: Collection[str]) -> None:
        super().__init__(world)
        self._configs = configs
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
            case _:
                return False
        return True

    async def let_all_go(self) -> None:
        """What was broken when a backup was taken is so again; it is mended once more."""
        for wide, name in self._overrides:
            await self._rewrite(wide, name)

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
        config = step.app in self._configs
        return override_spec(step.name, step.app, config, step.version, step.clusters, wide=step.wide, broken=broken)
