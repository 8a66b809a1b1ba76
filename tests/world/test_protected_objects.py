"""Objects that are protected from deletion, and the refusal that tools match."""

import pytest

from kubeapi.core import NAMESPACES
from kubeclient import Forbidden
from leeward.sim.world import World
from tests.world.stories import in_world


@in_world()
async def test_a_protected_object_is_refused_as_forbidden_with_karmadas_sentence(world: World) -> None:
    labels = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop", "labels": labels}})
    with pytest.raises(Forbidden) as refused:
        await world.client.delete(NAMESPACES, "shop")
    assert refused.value.status.code == 403
    said = "This resource is protected, please make sure to remove the label: "
    assert f"{said}{next(iter(labels))}" in refused.value.status.message
