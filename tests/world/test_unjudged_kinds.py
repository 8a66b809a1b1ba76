"""Custom resources: nobody calls healthy what nobody judges, and what an operator keeps in a member is not deleted."""

from collections.abc import Callable

import pytest

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeapi.transport import Request, Response
from kubeclient import NotFound
from kubecluster.network import Answering
from kubeserver.errors import status_response
from kubeserver.handler import StreamResponse
from leeward.answers.timeline import OutageFilter, timeline
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, REMOVAL_BLOCKED_CONDITION
from leeward.api.outage import MoveState
from leeward.api.resource import OUTAGES, RESOURCE_BINDINGS
from leeward.cli.timeline_text import timeline_lines
from leeward.operations.applications import RowState, ServiceLevel, application_row
from leeward.sim.world import CONTROLLERS, Mode, World
from tests.world.pictures import picture
from tests.world.stories import CONFIG_MAPS, POLICIES, held, in_world, play, policy, tasks
from tests.world.test_advice import carry_out
from tests.world.test_dependencies_with_data import CLAIMS
from tests.world.test_explain import explain
from tests.world.test_kinds import DEFINITIONS

PUSH: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
PULL: dict[str, Mode] = {"member1": "Pull", "member2": "Pull"}
DATABASES = Resource.of_manifests("data.example.com/v1", "databases", "Database", True)
ORDERS = "orders-database"
PRIMARY_AND_BACKUP: Manifest = {
    "clusterAffinities": [
        {"affinityName": "primary", "clusterNames": ["member1"]},
        {"affinityName": "backup", "clusterNames": ["member2"]},
    ]
}


def definition(*, has_status: bool = True) -> Manifest:
    version: Manifest = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    return {
        "metadata": {"name": "databases.data.example.com"},
        "spec": {
            "group": "data.example.com",
            "scope": "Namespaced",
            "names": {"plural": "databases", "singular": "database", "kind": "Database"},
            "versions": [{**version, "subresources": {"status": {}}} if has_status else version],
        },
    }


async def place(world: World, made: Manifest) -> None:
    """A database whose definition every cluster has."""
    for client in (world.client, *(world.member(name).client for name in world.members)):
        await client.create(DEFINITIONS, made)
    await world.sleep(30)
    await world.client.create(DATABASES, {"metadata": {"name": "orders"}, "spec": {"instances": 1}}, "default")
    placing = policy("orders", PRIMARY_AND_BACKUP, DATABASES.kind, DATABASES.api_version)
    await world.client.create(POLICIES, placing, "default")
    await world.until(lambda: world.assigned(ORDERS) == {"member1": 0}, 60)
    await world.sleep(30)


def owned_by(owner: Manifest, name: str) -> Manifest:
    """Metadata of an object that belongs to `owner`."""
    reference = {name: owner[name] for name in ("apiVersion", "kind")}
    reference.update(name=owner["metadata"]["name"], uid=owner["metadata"]["uid"], controller=True)
    return {"name": name, "ownerReferences": [reference]}


async def claiming(world: World, member: str, owner: Manifest, name: str) -> Manifest:
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": owned_by(owner, name), "spec": spec}
    return await world.member(member).client.create(CLAIMS, claim, "default")


async def operate(world: World, member: str) -> Manifest:
    """The member's operator makes a claim that belongs to the database."""
    owner = await world.member(member).client.get(DATABASES, "orders", "default")
    return await claiming(world, member, owner, "orders-1")


async def report(world: World, member: str, status: Manifest) -> None:
    await world.member(member).client.patch(DATABASES, "orders", {"status": status}, "default", subresource="status")


async def claim_of(world: World, member: str) -> Manifest:
    return await world.member(member).client.get(CLAIMS, "orders-1", "default")


async def end_by_hand(world: World) -> None:
    """A person says `suppressDeletion: false` of every task."""
    found = await world.client.get(RESOURCE_BINDINGS, ORDERS, "default")
    ended = [{**to_wire(task), "suppressDeletion": False} for task in found.spec.graceful_eviction_tasks]
    await world.client.patch(RESOURCE_BINDINGS, ORDERS, {"spec": {"gracefulEvictionTasks": ended}}, "default")


def held_message(world: World) -> str:
    binding = world.binding(ORDERS)
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) if binding else None
    return condition.message if condition else ""


def ready(status: str) -> Manifest:
    return {"conditions": [{"type": "Ready", "status": status, "reason": "Test", "message": ""}]}


def health(world: World) -> dict[str, str]:
    binding = world.binding(ORDERS)
    assert binding is not None
    return {item.cluster_name: item.health for item in binding.status.aggregated_status}


@pytest.mark.parametrize("members", [PUSH, PULL])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_an_operator_keeps_in_a_member_stays_there_with_its_owner(
    members: dict[str, Mode], restarts: bool
) -> None:
    """A custom resource that is ready, and the claim of its operator."""

    async def story(world: World) -> None:
        await place(world, definition())
        claim = await operate(world, "member1")
        await report(world, "member1", ready("True"))
        await world.sleep(60)
        await world.member("member1").stop()
        await world.sleep(1200)
        assert (world.assigned(ORDERS), held(world, ORDERS)) == ({"member1": 0}, "VolumesStay")
        if restarts:
            await world.stop_controllers()
            world.start_controllers()
        await world.member("member1").start()
        await world.sleep(1200)
        assert held(world, ORDERS) == ""
        found = await world.member("member1").client.get(CLAIMS, "orders-1", "default")
        assert found["metadata"]["uid"] == claim["metadata"]["uid"]
        await world.client.delete(DATABASES, "orders", "default")
        await world.sleep(60)
        with pytest.raises(NotFound):
            await world.member("member1").client.get(CLAIMS, "orders-1", "default")

    play(story, members)


@in_world(PUSH)
async def test_claims_that_belong_to_what_an_operator_made_belong_to_its_custom_resource(world: World) -> None:
    await place(world, definition())
    client = world.member("member1").client
    owner = await client.get(DATABASES, "orders", "default")
    between = await client.create(CONFIG_MAPS, {"metadata": owned_by(owner, "orders-set")}, "default")
    await claiming(world, "member1", between, "orders-2")
    await report(world, "member1", {"phase": "Running"})
    await world.sleep(60)
    await world.member("member1").stop()
    await world.sleep(1200)
    assert held(world, ORDERS) == "VolumesStay"


@pytest.mark.parametrize("members", [PUSH, PULL])
def test_an_eviction_of_what_nobody_judges_waits_for_a_person(members: dict[str, Mode]) -> None:
    async def story(world: World) -> None:
        await place(world, definition())
        await world.member("member1").stop()
        await world.sleep(1200)
        assert health(world)["member2"] == "Unknown", "nobody has looked whether it does its work"
        assert world.assigned(ORDERS) == {"member2": 0}
        await world.member("member1").start()
        await world.sleep(1200)
        assert await world.member("member1").client.get(DATABASES, "orders", "default")
        assert (tasks(world, ORDERS), held(world, ORDERS)) == (["member1"], "ReplacementMissing")
        await report(world, "member2", ready("True"))
        await world.sleep(60)
        assert tasks(world, ORDERS) == []
        with pytest.raises(NotFound):
            await world.member("member1").client.get(DATABASES, "orders", "default")

    play(story, members)


@in_world(PUSH)
async def test_a_kind_without_a_status_subresource_serves_once_it_is_applied(world: World) -> None:
    await place(world, definition(has_status=False))
    assert health(world) == {"member1": "Healthy"}


@in_world(PUSH)
async def test_a_kind_with_a_status_and_no_rule_is_judged_by_its_conditions_alone(world: World) -> None:
    await place(world, definition())
    assert health(world) == {"member1": "Unknown"}
    for status, expected in (("False", "Unhealthy"), ("True", "Healthy"), ("Unknown", "Unknown")):
        await report(world, "member1", ready(status))
        await world.sleep(30)
        assert health(world) == {"member1": expected}


def refuse_lists_of_claims(world: World, member: str) -> None:
    """Nobody may list the member's claims, as where a role does not say so."""
    forbidden = Status(message="claims are not listed", reason="Forbidden", code=403)

    async def audit(request: Request, handle: Callable[[], Answering]) -> Response | StreamResponse:
        is_list = request.method == "GET" and request.path.endswith("/persistentvolumeclaims")
        return status_response(forbidden) if is_list else await handle()

    world.member(member).place.audit = audit


@pytest.mark.parametrize("members", [PUSH, PULL])
@pytest.mark.parametrize("restarts", [False, True])
def test_claims_that_nobody_may_list_keep_a_custom_resource_where_it_is(
    members: dict[str, Mode], restarts: bool
) -> None:
    async def story(world: World) -> None:
        refuse_lists_of_claims(world, "member1")
        await place(world, definition())
        claim = await operate(world, "member1")
        await report(world, "member1", ready("True"))
        await world.sleep(60)
        if restarts:
            await world.stop_controllers()
            world.start_controllers()
            await world.sleep(10)
        await world.member("member1").stop()
        await world.sleep(1200)
        assert (world.assigned(ORDERS), held(world, ORDERS)) == ({"member1": 0}, "VolumesStay")
        assert "not known" in held_message(world)
        world.member("member1").place.audit = None
        await world.member("member1").start()
        await world.sleep(600)
        assert (await claim_of(world, "member1"))["metadata"]["uid"] == claim["metadata"]["uid"]

    play(story, members)


@in_world(PUSH)
async def test_a_claim_that_comes_behind_another_owner_is_noticed_without_a_report_of_the_custom_resource(
    world: World,
) -> None:
    await place(world, definition())
    await report(world, "member1", ready("True"))
    await world.sleep(60)
    client = world.member("member1").client
    owner = await client.get(DATABASES, "orders", "default")
    between = await client.create(CONFIG_MAPS, {"metadata": owned_by(owner, "orders-set")}, "default")
    await claiming(world, "member1", between, "orders-1")
    await world.sleep(30)
    await world.member("member1").stop()
    await world.sleep(1200)
    assert (world.assigned(ORDERS), held(world, ORDERS)) == ({"member1": 0}, "VolumesStay")


@pytest.mark.parametrize("members", [PUSH, PULL])
def test_a_claim_that_was_made_behind_a_partition_is_looked_at_before_its_owner_is_deleted(
    members: dict[str, Mode],
) -> None:
    async def story(world: World) -> None:
        await place(world, definition())
        await report(world, "member1", ready("True"))
        await world.sleep(60)
        way = world.link(CONTROLLERS, "member1") if members is PUSH else world.member("member1").agent_link
        way.cut()
        await world.until(lambda: world.assigned(ORDERS) == {"member2": 0}, 1200)
        claim = await operate(world, "member1")
        await world.sleep(30)
        await report(world, "member2", ready("True"))
        await world.until(lambda: tasks(world, ORDERS) == [], 600)
        way.mend()
        await world.sleep(600)
        assert (await claim_of(world, "member1"))["metadata"]["uid"] == claim["metadata"]["uid"]
        binding = world.binding(ORDERS)
        assert binding is not None
        blocked = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION)
        assert blocked is not None
        assert blocked.reason == "VolumesStay"
        assert "orders-1" in blocked.message
        await world.client.delete(DATABASES, "orders", "default")
        await world.sleep(60)
        with pytest.raises(NotFound):
            await claim_of(world, "member1")

    play(story, members)


@pytest.mark.parametrize("members", [PUSH, PULL])
def test_a_persons_word_ends_what_waits_for_health_that_nobody_knows(members: dict[str, Mode]) -> None:
    """`suppressDeletion: false` is said while the cluster is away."""

    async def story(world: World) -> None:
        await place(world, definition())
        await world.member("member1").stop()
        await world.sleep(1200)
        assert tasks(world, ORDERS) == ["member1"]
        await end_by_hand(world)
        await world.sleep(60)
        await world.member("member1").start()
        await world.sleep(300)
        assert tasks(world, ORDERS) == []
        with pytest.raises(NotFound):
            await world.member("member1").client.get(DATABASES, "orders", "default")
        assert await world.member("member2").client.get(DATABASES, "orders", "default")

    play(story, members)


@pytest.mark.parametrize("members", [PUSH, PULL])
def test_what_is_held_for_health_names_the_kind_that_nobody_judges(members: dict[str, Mode]) -> None:
    async def story(world: World) -> None:
        await place(world, definition())
        await world.member("member1").stop()
        await world.sleep(2400)
        assert "nothing says when a Database is healthy" in held_message(world)
        outage = (await world.client.list(OUTAGES)).items[0]
        (application,) = outage.status.listed
        assert "nothing says when a Database is healthy" in application.message

    play(story, members)


@pytest.mark.parametrize("members", [PUSH, PULL])
def test_a_custom_resource_is_in_outage_time_line_row_and_explanation_like_everything_else(
    members: dict[str, Mode],
) -> None:
    """The advice that is printed for it is carried out, and ends its eviction."""

    async def story(world: World) -> None:
        await place(world, definition())
        assert row(world) == (RowState.IN_PLACE, ServiceLevel.UNKNOWN)
        await world.member("member1").stop()
        await world.sleep(400)
        assert row(world) == (RowState.DUE, ServiceLevel.NOBODY)
        await world.sleep(2000)
        assert row(world) == (RowState.HELD, ServiceLevel.UNKNOWN)
        (outage,) = (await world.client.list(OUTAGES)).items
        (listed,) = outage.status.listed
        assert (listed.kind, listed.name, listed.state) == (DATABASES.kind, "orders", MoveState.HELD)
        lines = list(timeline_lines(timeline(await picture(world), OutageFilter())))
        assert any("default/orders cannot move: ReplacementMissing" in line for line in lines)
        told = await explain(world, "database/orders")
        assert [each.what for each in told.where if each.cluster == "member2"] == ["no rule judges its health"]
        let_go, customize = told.helps[:2]
        assert let_go.change == "if the copy in member2 serves, remove the copy in member1"
        assert customize.change == "write a ResourceInterpreterCustomization with healthInterpretation for Database"
        await carry_out(world, let_go.command)
        await world.sleep(60)
        assert (held_message(world), world.assigned(ORDERS)) == ("", {"member2": 0})
        await world.member("member1").start()
        await world.sleep(300)
        assert (tasks(world, ORDERS), row(world)) == ([], (RowState.IN_PLACE, ServiceLevel.UNKNOWN))

    play(story, members)


def row(world: World) -> tuple[RowState, ServiceLevel]:
    binding = world.binding(ORDERS)
    assert binding is not None
    told = application_row(binding)
    return told.state, told.serving
