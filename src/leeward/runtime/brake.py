"""The brake as controllers see it: its state in the ConfigMap `karmada-system/leeward-brake`, and the fleet now.

Everybody who decides asks whether it holds. The answer is kept until the state changes, or a sign of a cluster, so that
it does not cost a look at all of them each time.
"""

from collections.abc import Callable
from datetime import timedelta

from controller_runtime import Informers
from kubeapi.core import CONFIG_MAPS, ConfigMap
from leeward.api.cluster import Cluster
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.brake import Brake, BrakeSettings, holds, parse_brake, signs_of

BRAKED_PAUSE = timedelta(seconds=30)
"""Pause before a cluster that the brake holds is looked at again, should no event tell that it was released."""


class BrakeView:
    def __init__(self, informers: Informers, settings: BrakeSettings) -> None:
        self.settings = settings
        self._config_maps = informers.of(CONFIG_MAPS, SYSTEM_NAMESPACE)
        self._clusters = informers.of(CLUSTERS)
        self._answer: tuple[Brake, bool] | None = None
        """State for which it is known whether evictions are held, and that; None after a sign has changed."""
        self._clusters.on_change(self._cluster_changed)

    @property
    def object(self) -> ConfigMap | None:
        return self._config_maps.get(BRAKE_NAME, SYSTEM_NAMESPACE)

    @property
    def brake(self) -> Brake:
        found = self.object
        return parse_brake(found.data) if found is not None else Brake()

    def holds(self) -> bool:
        """Tells whether evictions are held now."""
        brake = self.brake
        if self._answer is None or self._answer[0] != brake:
            self._answer = brake, holds(brake, self._clusters.list(), self.settings)
        return self._answer[1]

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

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None or signs_of(old) != signs_of(new):
            self._answer = None
