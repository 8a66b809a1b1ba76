"""A picture of a fleet says what the fleet is, without its secrets, and is taken without a write."""

import pytest

from kubeapi.core import SECRETS
from kubeapi.resource import Resource
from kubeclient import Client
from kubecluster.network import LinkedTransport
from leeward.answers import reading, unreported_replicas
from leeward.answers.decisions import fleet_of
from leeward.answers.fleet_state import BindingName, decode_state, encode_state
from leeward.answers.reading import read_fleet, read_for, read_outages
from leeward.answers.redaction import redacted_work
from leeward.sim.world import ADMIN, World
from tests.world.pictures import Requests, picture
from tests.world.stories import apply, by_weight, deployment, in_world, policy

KEY = BindingName("default", "web-deployment")
BOTH = by_weight({"member1": 1, "member2": 1})
HIDDEN = "aGlkZGVu"
"""Text that no picture may hold: a value of a Secret, and of an environment variable."""
SECRET_POLICY = policy("token", {"clusterAffinity": {"clusterNames": ["member1"]}}, "Secret", "v1")
SECRET_MANIFESTS = Resource.of_manifests("v1", "secrets", "Secret", True)


async def place(world: World) -> None:
    web = deployment("web", 3)
    web["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": HIDDEN}]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "data": {"token": HIDDEN}}
    await world.client.create(SECRET_MANIFESTS, secret, "default")
    await apply(world.client, web, policy("web", BOTH), SECRET_POLICY)
    await world.until(lambda: bool(world.assigned("web-deployment") and world.assigned("token-secret")), 60)
    await world.sleep(60)


@in_world()
async def test_a_picture_holds_what_is_decided_on_and_no_secret_and_survives_its_file(world: World) -> None:
    await place(world)
    assert (await world.client.get(SECRETS, "token", "default")).data
    state = await read_fleet(world.client, world.clock, "world")
    assert set(state.clusters) == {"member1", "member2", "member3"}
    assert set(state.bindings) == {BindingName("default", "web-deployment"), BindingName("default", "token-secret")}
    assert set(state.works_of(BindingName("default", "web-deployment"))) == {"member1", "member2"}
    template = state.template_of(state.bindings[BindingName("default", "web-deployment")])
    assert (template.kind, template.name, template.labels["app"]) == ("Deployment", "web", "web")
    assert (state.recorded.unseen, state.as_of) == ((), world.clock.now())
    assert state.recorded.attention.is_now
    data = encode_state(state)
    assert HIDDEN.encode() not in data
    assert decode_state(data).recorded == state.recorded


@in_world()
async def test_taking_a_picture_writes_nothing_and_takes_few_requests(world: World) -> None:
    await place(world)
    client = Client(LinkedTransport(world.place, ADMIN), "leeward")
    requests = Requests(world)
    await read_fleet(client, world.clock)
    whole = len(requests.methods)
    await read_for(client, world.clock, KEY)
    assert set(requests.methods) == {"GET"}
    assert (whole, len(requests.methods) - whole) == (14, 12)
    requests.methods.clear()
    await read_outages(client, world.clock)
    assert requests.methods == ["GET"] * 7, "bindings remember the turns of rollouts"


@in_world()
async def test_a_picture_taken_in_pages_is_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await place(world)
    whole = await picture(world)
    monkeypatch.setattr(reading, "PAGE", 1)
    assert (await picture(world)).recorded == whole.recorded


@in_world()
async def test_a_picture_for_one_binding_says_the_same_of_it_as_the_whole_one_but_for_messages(world: World) -> None:
    await place(world)
    whole, part = await picture(world), await read_for(world.client, world.clock, KEY)
    assert part.bindings == {KEY: whole.bindings[KEY]}
    works = {name: redacted_work(work) for name, work in part.works_of(KEY).items()}
    assert works == whole.works_of(KEY) != part.works_of(KEY)
    assert part.template_of(part.bindings[KEY]) == whole.template_of(whole.bindings[KEY])
    assert part.recorded.policies == whole.recorded.policies


@in_world()
async def test_a_picture_for_a_binding_without_an_identity_has_its_works(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or its copies are told to be on their way for ever: without a webhook nobody gives identities."""
    await place(world)
    monkeypatch.setattr(reading, "BINDING_ID_LABEL", "example.org/nobody-gave-one")
    part = await read_for(world.client, world.clock, KEY)
    assert set(part.works_of(KEY)) == {"member1", "member2"}


@in_world()
async def test_a_picture_for_one_binding_has_what_was_given_to_others_and_is_not_reported_yet(world: World) -> None:
    await place(world)
    for member in world.members:
        world.member(member).set_latency(2)
    app = deployment("late", 4)
    app["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    await apply(world.client, app, policy("late", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: bool(world.assigned("late-deployment")), 60)
    whole, part = await picture(world), await read_for(world.client, world.clock, KEY)
    reserved = fleet_of(whole).reservations.all()
    assert {name: [each.replicas for each in found] for name, found in reserved.items()} == {
        "member1": [2],
        "member2": [2],
    }
    assert fleet_of(part).reservations.all() == reserved
    assert set(part.bindings) == {KEY, BindingName("default", "late-deployment")}
    await world.sleep(60)
    assert set((await read_for(world.client, world.clock, KEY)).bindings) == {KEY}, "all is reported"


@in_world()
async def test_of_very_many_that_are_on_their_way_it_is_told_that_not_all_were_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place(world)
    monkeypatch.setattr(unreported_replicas, "MOST_READ", 1)
    monkeypatch.setattr(unreported_replicas, "PAGE", 1)
    for number in range(3):
        await apply(world.client, deployment(f"app{number}", 1), policy(f"app{number}", {}))
    for member in world.members:
        world.member(member).pause()
    await world.sleep(5)
    part = await read_for(world.client, world.clock, KEY)
    assert (len(part.bindings), part.recorded.unseen) == (2, ("what 2 more bindings were given",))
