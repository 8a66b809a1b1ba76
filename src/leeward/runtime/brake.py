"""The brake as controllers see it: its state in the ConfigMap `karmada-system/leeward-brake`, and the fleet now."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from leeward.api.cluster import Cluster
from leeward.api.core import ConfigMap
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE
from leeward.api.resource import CONFIG_MAPS
from leeward.core.cluster_health.brake import Brake, BrakeSettings, holds, parse_brake
from leeward.runtime.informers import Informers

BRAKED_PAUSE = timedelta(seconds=30)
"""Pause before a cluster that the brake holds is looked at again, should no event tell that it was released."""


class BrakeView:
    def __init__(self, informers: Informers, settings: BrakeSettings) -> None:
        self.settings = settings
        self._config_maps = informers.of(CONFIG_MAPS, SYSTEM_NAMESPACE)

    @property
    def object(self) -> ConfigMap | None:
        return self._config_maps.get(BRAKE_NAME, SYSTEM_NAMESPACE)

    @property
    def brake(self) -> Brake:
        found = self.object
        return parse_brake(found.data) if found is not None else Brake()

    def holds(self, clusters: Iterable[Cluster]) -> bool:
        return holds(self.brake, clusters, self.settings)

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        await self._config_maps.wait_synced()

    def remember(self, config_map: ConfigMap) -> None:
        self._config_maps.remember(config_map)

    def on_change(self, changed: Callable[[], None]) -> None:
        def on_config_map(old: ConfigMap | None, new: ConfigMap | None) -> None:
            found = new or old
            if found is not None and found.name == BRAKE_NAME:
                changed()

        self._config_maps.on_change(on_config_map)
