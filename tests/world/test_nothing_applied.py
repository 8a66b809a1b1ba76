"""A binding of which nothing is applied says why, and points to no field that is not there."""

from typing import Any

from kubeapi.codec import to_wire
from kubeapi.transport import Response
from kubeclient import Request
from leeward.api.meta import find_condition
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, in_world, play, policy
from tests.world.test_detection import answers
from tests.world.test_overrides import TWO, WEB, web_runs

SETTINGS: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {}}
BINDING = "settings-configmap"
REFUSED = b'{"kind":"Status","apiVersion":"v1","reason":"Forbidden","code":403,"message":"no"}'
CHANGED: dict[str, Any] = {"metadata": {"labels": {"changed": "yes"}}}


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


def test_a_copy_whose_work_cannot_be_written_is_told_as_it_is() -> None:
    """A write that is refused leaves the Work, and the copy: nobody is told that there is none."""

    async def story(world: World) -> None:
        await web_runs(world)

        def refuse(request: Request) -> Response | None:
            is_write = request.method in ("PUT", "PATCH") and request.path.endswith(f"/works/{WEB}")
            return Response(403, REFUSED, {"content-type": "application/json"}) if is_write else None

        answers(world.place, refuse)
        await world.client.patch(DEPLOYMENTS, "web", CHANGED, "default")
        await world.sleep(60)
        binding = world.binding("web-deployment")
        assert binding is not None
        applied = find_condition(binding.status.conditions, "FullyApplied")
        assert applied is not None
        assert (applied.status, "no Work" in applied.message) == ("False", False)
        assert [each.cluster_name for each in binding.status.aggregated_status] == [*TWO]

    play(story, TWO)
