"""A leader's Lease: what it says of shards, and when nobody works on the strength of it any more."""

import pytest

from kubeapi.core import LEASES, NAMESPACES, Lease, LeaseSpec
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeclient import Client, NotServed, Response, WorldError
from leeward.api.names import SHARDS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.runtime.sharding import Sharding
from tests.kubecluster.runtime.small_world import ScriptedTransport, SmallWorld, tell

THREE = Sharding(3)


def told(text: str | None, holder: str = "me") -> Lease:
    annotations = {} if text is None else {SHARDS_ANNOTATION: text}
    return Lease(metadata=ObjectMeta(name="leader", annotations=annotations), spec=LeaseSpec(holder_identity=holder))


@pytest.mark.parametrize(
    ("lease", "found"),
    [
        (told("3/me"), THREE),
        (told("12/me"), Sharding(12)),
        (told("3/a/b", "a/b"), THREE),
        (told(None), None),
        (told("3/another"), None),
        (told("3/me", "another"), None),
        (told("3/", ""), None),
        (told("3"), None),
        (told("/me"), None),
        (told("three/me"), None),
        (told("-3/me"), None),
    ],
)
def test_a_lease_tells_of_shards_in_the_name_of_its_holder_alone_s8(lease: Lease, found: Sharding | None) -> None:
    assert Sharding.told_on(lease) == found
    assert THREE.is_told_on(lease) == (found == THREE)


def test_a_leader_tells_in_its_own_name_and_takes_it_back() -> None:
    assert THREE.told_by("me") == {SHARDS_ANNOTATION: "3/me"}
    assert Sharding.WITHDRAWN == {SHARDS_ANNOTATION: None}
    assert Sharding.told_on(told(THREE.told_by("me")[SHARDS_ANNOTATION])) == THREE


def test_each_shard_has_a_lease_of_its_own_and_none_of_another_number_of_shards() -> None:
    assert THREE.leases == ["leeward-shard-0-of-3", "leeward-shard-1-of-3", "leeward-shard-2-of-3"]
    assert not {*THREE.leases} & {*Sharding(2).leases}
    assert THREE.lease_of(2) == THREE.leases[2]


@pytest.mark.parametrize(
    ("holders", "rests"),
    [
        ({}, True),
        ({0: "", 1: "", 2: ""}, True),
        ({0: "a"}, False),
        ({2: "c"}, False),
        ({0: "", 1: "b"}, False),
    ],
    ids=["no Leases", "all given back", "the first is held", "the last is held", "one of several"],
)
def test_shards_rest_when_nobody_holds_a_lease_of_any_s8(holders: dict[int, str], *, rests: bool) -> None:
    async def story(world: SmallWorld) -> None:
        await world.direct.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        for index, holder in holders.items():
            made = {"metadata": {"name": THREE.lease_of(index)}, "spec": {"holderIdentity": holder}}
            await world.direct.create(LEASES, made, SYSTEM_NAMESPACE)
        other = {"metadata": {"name": Sharding(2).lease_of(0)}, "spec": {"holderIdentity": "another's"}}
        await world.direct.create(LEASES, other, SYSTEM_NAMESPACE)
        assert await THREE.is_at_rest(world.direct, SYSTEM_NAMESPACE) is rests

    tell(story)


def test_whether_shards_rest_is_not_known_where_nobody_could_look_s8() -> None:
    async def story(world: SmallWorld) -> None:
        world.link.cut()
        with pytest.raises(WorldError):
            await THREE.is_at_rest(world.client, SYSTEM_NAMESPACE)

    tell(story)


def test_leases_that_are_not_served_say_nothing_of_shards_s8() -> None:
    page = Response(404, b"404 page not found\n")
    with pytest.raises(NotServed):
        run_virtual(THREE.is_at_rest(Client(ScriptedTransport([page] * 3)), SYSTEM_NAMESPACE))
