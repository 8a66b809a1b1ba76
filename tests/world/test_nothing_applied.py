"""A binding of which nothing is applied says why, and points to no field that is not there."""

from typing import Any

from kubeapi.codec import to_wire
from leeward.api.meta import find_condition
from leeward.sim.world import World
from tests.world.stories import apply, in_world, policy

SETTINGS: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {}}
BINDING = "settings-configmap"


@in_world({"member1": "Push"})
async def test_what_fits_no_cluster_says_that_it_is_not_scheduled(world: World) -> None:
    nowhere = {"clusterAffinity": {"clusterNames": ["no-such-cluster"]}}
    await apply(world.client, SETTINGS, policy("settings", nowhere, "ConfigMap", "v1"))
    await world.sleep(60)
    binding = world.binding(BINDING)
    assert binding is not None
    assert "aggregatedStatus" not in to_wire(binding.status)
    applied = find_condition(binding.status.conditions, "FullyApplied")
    assert applied is not None
    assert applied.status == "False"
    assert (
        applied.message == "Nothing is applied, since it is not scheduled to any cluster, see the condition Scheduled"
    )
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    assert scheduled is not None
    assert scheduled.status == "False"
