"""A path is answered with a page of 404 for a moment, as by a proxy whose server is starting, or while a kind is not
served yet: what was to be written there is written when it is served again, and nothing counts as gone (S5, L1)."""

import pytest

from kubeclient import Request, Response
from kubecluster.network import Place
from leeward.api.names import execution_space
from leeward.api.resource import WORKLOAD_REBALANCERS, WORKS
from leeward.sim.world import CONTROLLERS, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
)
from tests.world.test_detection import answers
from tests.world.test_rebalancer import WORKLOAD, finished

WEB = "web-deployment"
MOMENT, SETTLED = 30, 60
TWO = {"member1": 1, "member2": 1}


def not_served(place: Place, method: str, *parts: str) -> None:
    """Requests of the controllers with this method are answered so where the path has all of these parts."""

    def instead(request: Request) -> Response | None:
        is_theirs = request.headers["user-agent"] == CONTROLLERS
        is_meant = is_theirs and request.method == method and all(part in request.path for part in parts)
        return Response(404, b"404 page not found\n", {"content-type": "text/plain"}) if is_meant else None

    answers(place, instead)


async def web_runs(world: World) -> None:
    await apply(world.client, deployment("web", 4), policy("web", by_weight(TWO)))
    await world.until(lambda: healthy(world) == set(TWO), 60)


def healthy(world: World) -> set[str]:
    binding = world.binding(WEB)
    statuses = binding.status.aggregated_status if binding is not None else ()
    return {status.cluster_name for status in statuses if status.health == "Healthy"}


@in_world()
async def test_l1_a_status_that_could_not_be_written_there_is_written_later(world: World) -> None:
    await web_runs(world)
    not_served(world.place, "PATCH", "/works/", "/status")
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}}, "default")
    await world.sleep(MOMENT)
    assert healthy(world) != set(TWO)
    world.place.audit = None
    await world.until(lambda: healthy(world) == set(TWO), SETTLED)


@in_world()
async def test_s5_a_copy_that_a_returning_member_does_not_serve_yet_is_not_reported_as_missing(world: World) -> None:
    await web_runs(world)
    member = world.member("member1")
    await member.stop()
    await world.until(lambda: not world.is_ready("member1"), SETTLED)
    before = (await world.client.list(WORKS, execution_space("member1"))).items
    not_served(member.place, "GET", "/apis/apps/")
    await member.start()
    await world.until(lambda: world.is_ready("member1"), 2 * SETTLED)
    await world.sleep(MOMENT)
    after = (await world.client.list(WORKS, execution_space("member1"))).items
    assert [work.status.manifest_statuses for work in after] == [work.status.manifest_statuses for work in before]
    member.place.audit = None
    await world.until(lambda: healthy(world) == set(TWO), SETTLED)


@in_world()
async def test_l3_a_work_whose_deletion_is_not_served_is_deleted_later(world: World) -> None:
    await web_runs(world)
    not_served(world.place, "DELETE", "/works/")
    await world.client.patch(POLICIES, "web", {"spec": {"placement": by_weight({"member2": 1})}}, "default")
    await world.sleep(MOMENT)
    assert await ready_replicas(world, "member1", "web") == 2
    world.place.audit = None
    await world.sleep(SETTLED)
    assert (await identities(world, "web")).keys() == {"member2"}


@pytest.mark.parametrize("method", ["GET", "PATCH"])
@in_world()
async def test_a_rebalancer_does_not_say_of_an_application_that_it_is_missing(world: World, method: str) -> None:
    await web_runs(world)
    not_served(world.place, method, "/resourcebindings/")
    await world.client.create(
        WORKLOAD_REBALANCERS,
        {"metadata": {"name": "home"}, "spec": {"workloads": [{**WORKLOAD, "name": "web"}]}},
    )
    await world.sleep(MOMENT)
    world.place.audit = None
    await world.sleep(SETTLED)
    done = await finished(world, "home")
    assert [told.result for told in done.status.observed_workloads] == ["Successful"]
