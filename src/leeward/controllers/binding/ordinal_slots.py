"""Slots of ordinals by cluster, in the ConfigMap `karmada-system/leeward-ordinals`, for the binding controller.

The ConfigMap is read when a StatefulSet that asks for ordinals by cluster gets a new copy, and at no other time. A slot
is given by a write that names the version that was read, so that no two clusters get the same one.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from controller_runtime.informer import Informer
from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.meta import ObjectMeta, ReadOnlyManifest
from kubeclient import NotFound
from leeward.api.cluster import Cluster
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.api.ordinals import is_numbered
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.rendering.override_rendering import UNREAD_AGAIN, Rendering
from leeward.core.execution.first_ordinals import next_slots, parse_slots, with_ordinals, without_slot
from leeward.core.overrides.rendering import Overridden, OverrideFailure
from leeward.runtime.controller_context import ControlPlane

SLOTS_NAME = "leeward-ordinals"


class OrdinalSlots:
    def __init__(self, plane: ControlPlane) -> None:
        self._client, self._clock = plane.client, plane.clock
        self._clusters: Informer[Cluster] = plane.informers.of(CLUSTERS)

    async def number(
        self, binding: Binding, template: ReadOnlyManifest, rendering: Rendering, present: Mapping[str, Work]
    ) -> Rendering:
        """The rendering with the ordinals of each copy. Raises: WorldError; a conflict where two were given at once."""
        if not is_numbered(template):
            return rendering
        wanted, slots, failures = rendering.manifests, dict[str, int](), dict[str, OverrideFailure]()
        look_at = rendering.look_at
        if new := without_slot(binding, wanted, present):
            try:
                slots = await self._slots(new)
            except ValueError as error:
                why = f"ConfigMap {SYSTEM_NAMESPACE}/{SLOTS_NAME}: {error}"
                failures = dict.fromkeys(new, OverrideFailure(None, why))
                look_at = self._clock.now() + UNREAD_AGAIN
        clusters = {name: cluster for name in wanted if (cluster := self._clusters.get(name)) is not None}
        numbered = with_ordinals({n: each for n, each in wanted.items() if n not in failures}, present, slots, clusters)
        failures |= {name: each for name, each in numbered.items() if isinstance(each, OverrideFailure)}
        manifests = {name: each for name, each in numbered.items() if isinstance(each, Overridden)}
        return replace(rendering, manifests=manifests, failures={**rendering.failures, **failures}, look_at=look_at)

    async def _slots(self, clusters: Collection[str]) -> dict[str, int]:
        try:
            found = await self._client.get(CONFIG_MAPS, SLOTS_NAME, SYSTEM_NAMESPACE)
        except NotFound:
            found = None
        slots = parse_slots(found.data) if found is not None else {}
        if given := next_slots(clusters, slots):
            data = {cluster: str(slot) for cluster, slot in given.items()}
            if found is None:
                made = ConfigMap(metadata=ObjectMeta(name=SLOTS_NAME, namespace=SYSTEM_NAMESPACE), data=data)
                await self._client.create(CONFIG_MAPS, made, SYSTEM_NAMESPACE)
            else:
                version = found.metadata.resource_version
                await self._client.patch(
                    CONFIG_MAPS, SLOTS_NAME, {"data": data}, SYSTEM_NAMESPACE, resource_version=version
                )
        return slots | given
