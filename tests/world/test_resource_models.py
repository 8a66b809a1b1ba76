"""Sums of a member's nodes and pods in its Cluster's status: grades of nodes, and absurd numbers cut down."""

from kubeapi.core import NODES
from kubeclient import Request, Response
from leeward.api.meta import find_condition
from leeward.api.names import DOUBTFUL_CONDITION, OUTDATED_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.sim.world import World
from tests.world.stories import in_world
from tests.world.test_detection import answers, nginx_runs, status


def grades(world: World, name: str) -> dict[int, int]:
    summary = world.cluster(name).status.resource_summary
    assert summary is not None
    return {modeling.grade: modeling.count for modeling in summary.allocatable_modelings if modeling.count}


def doubts(world: World, name: str) -> str:
    found = find_condition(world.cluster(name).status.conditions, DOUBTFUL_CONDITION)
    return found.message if found is not None else ""


def outdated(world: World, name: str) -> str:
    found = find_condition(world.cluster(name).status.conditions, OUTDATED_CONDITION)
    return found.message if found is not None else ""


@in_world()
async def test_nodes_are_counted_by_grade_for_push_and_pull(world: World) -> None:
    for name in ("member1", "member3"):
        nodes = world.cluster(name).status.node_summary
        assert nodes is not None
        await world.until(lambda name=name: bool(grades(world, name)), 30)
        assert sum(grades(world, name).values()) == nodes.ready_num


@in_world()
async def test_a_clusters_own_models_are_used_from_the_next_look_on(world: World) -> None:
    ranges = [{"name": "cpu", "min": "0", "max": "100k"}]
    models = [{"grade": 0, "ranges": ranges}]
    await world.client.patch(CLUSTERS, "member1", {"spec": {"resourceModels": models}})
    nodes = world.cluster("member1").status.node_summary
    assert nodes is not None
    await world.until(lambda: grades(world, "member1") == {0: nodes.ready_num}, 30)


@in_world()
async def test_s10_a_member_that_reports_absurd_numbers_stays_ready_and_is_told_of(world: World) -> None:
    member = world.member("member1").client
    await member.create(NODES, {"metadata": {"name": "liar"}})
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "-4", "memory": "1e99"}}
    await member.patch(NODES, "liar", {"status": status}, subresource="status")
    await world.until(lambda: doubts(world, "member1") != "", 30)
    assert "Node liar: cpu is -4; Node liar: memory is 1" in doubts(world, "member1")
    assert world.is_ready("member1")
    assert doubts(world, "member2") == ""
    summary = world.cluster("member1").status.resource_summary
    assert summary is not None
    assert not str(summary.allocatable["cpu"]).startswith("-")
    await member.delete(NODES, "liar")
    await world.until(lambda: doubts(world, "member1") == "", 30)


@in_world()
async def test_a_look_at_a_member_asks_for_no_node_and_no_pod_that_is_known(world: World) -> None:
    """Per member two lists at first, and a watch of each kind every five minutes at most."""
    await nginx_runs(world)
    await world.sleep(60)
    asked: list[tuple[str, str]] = []
    looks: list[str] = []

    def note(request: Request) -> Response | None:
        if request.path in ("/api/v1/nodes", "/api/v1/pods"):
            asked.append((request.path, request.query.get("watch", "")))
        looks.extend([request.path] if request.path == "/readyz" else ())
        return None

    answers(world.member("member1").place, note)
    before = world.cluster("member1").status.resource_summary
    await world.sleep(100)
    assert len(looks) == 10
    assert sorted(asked) in ([], [("/api/v1/nodes", "true"), ("/api/v1/pods", "true")]), "watches end after a while"
    assert world.cluster("member1").status.resource_summary == before


@in_world()
async def test_s5_a_summary_that_cannot_be_kept_up_stays_and_says_how_old_it_is(world: World) -> None:
    """The member is well otherwise: who may not list Pods knows neither that there are none, nor that it is dead."""
    await nginx_runs(world)
    await world.sleep(30)
    before = world.cluster("member1").status.resource_summary
    place = world.member("member1").place

    def refuse(request: Request) -> Response | None:
        return status(403, "Forbidden") if request.path == "/api/v1/pods" else None

    answers(place, refuse)
    place.link.interrupt()
    began = world.clock.now()
    await world.until(lambda: outdated(world, "member1") != "", 100)
    told = outdated(world, "member1")
    assert told.startswith(f"pods cannot be followed (since {began:%Y-%m-%dT%H:}")
    await world.sleep(60)
    assert outdated(world, "member1") == told
    assert world.cluster("member1").status.resource_summary == before
    assert world.is_ready("member1")
    assert outdated(world, "member2") == ""
    place.audit = None
    await world.until(lambda: outdated(world, "member1") == "", 60)
    assert world.cluster("member1").status.resource_summary == before
