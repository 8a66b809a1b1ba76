"""Ordinals by cluster: Pods of a StatefulSet have one name each in the whole fleet, and keep it."""

from typing import Any

from kubeapi.meta import Manifest
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.api.ordinals import ORDINALS_ANNOTATION
from leeward.api.resource import RESOURCE_BINDINGS, WORKLOAD_REBALANCERS
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, POLICIES, by_weight, held, in_world, policy
from tests.world.test_restored import restore
from tests.world.test_stateful_sets import DB, SERVICES, STATEFUL_SETS, pods, stateful_set

SLOTS = "leeward-ordinals"
HEADLESS: Manifest = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "db"},
    "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 5432}]},
}


def numbered(replicas: int = 4, *, claims: bool = False, **spec: Any) -> Manifest:
    made = stateful_set()
    made["metadata"]["annotations"] = {ORDINALS_ANNOTATION: "ByCluster"}
    made["spec"] |= {"replicas": replicas, "podManagementPolicy": "Parallel", **spec}
    if not claims:
        del made["spec"]["volumeClaimTemplates"]
    return made


async def apply(world: World, template: Manifest, **fields: Any) -> None:
    wanted = policy("db", by_weight({"member1": 1, "member2": 1}), "StatefulSet")
    wanted["spec"] |= fields
    await world.client.create(STATEFUL_SETS, template, "default")
    await world.client.create(POLICIES, wanted, "default")


def of(name: str) -> Manifest:
    return {"clusterAffinity": {"clusterNames": [name]}}


async def annotate(world: World, value: str | None) -> None:
    await world.client.patch(
        STATEFUL_SETS, "db", {"metadata": {"annotations": {ORDINALS_ANNOTATION: value}}}, "default"
    )


async def names(world: World) -> list[set[str]]:
    """Names of the Pods in member1 and member2."""
    return [set(await pods(world, name)) for name in ("member1", "member2")]


FIRST, SECOND = {"db-1000", "db-1001"}, {"db-2000", "db-2001"}


@in_world()
async def test_each_cluster_numbers_its_pods_from_its_own_slot(world: World) -> None:
    await apply(world, numbered())
    await world.sleep(60)
    assert await names(world) == [FIRST, SECOND]


@in_world()
async def test_a_start_of_the_template_is_added(world: World) -> None:
    await apply(world, numbered(ordinals={"start": 1}))
    await world.sleep(60)
    assert await names(world) == [{"db-1001", "db-1002"}, {"db-2001", "db-2002"}]


@in_world()
async def test_after_a_failover_no_name_runs_twice_and_the_old_names_come_back(world: World) -> None:
    await apply(world, numbered())
    await world.sleep(60)
    world.member("member1").pause()
    await world.sleep(900)
    assert set(await pods(world, "member2")) == SECOND | {"db-2002", "db-2003"}
    world.member("member1").resume()
    await world.sleep(900)
    first, second = await names(world)
    assert not first & second
    named = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "namespace": "default"}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "back"}, "spec": {"workloads": [named]}})
    await world.sleep(300)
    assert await names(world) == [FIRST, SECOND]


@in_world()
async def test_s12_a_copy_has_its_claims_again_though_the_annotation_came_late(world: World) -> None:
    """The numbering is the binding's since it was made: else the copy would come back beside its data."""
    template = numbered(2, claims=True)
    del template["metadata"]["annotations"]
    await apply(world, template, placement=of("member1"))
    await world.sleep(60)
    await annotate(world, "ByCluster")
    for name in ("member2", "member1"):
        await world.client.patch(POLICIES, "db", {"spec": {"placement": of(name)}}, "default")
        await world.sleep(120)
        assert set(await pods(world, name)) == {"db-0", "db-1"}


@in_world()
async def test_s12_a_copy_has_its_claims_again_though_the_annotation_went(world: World) -> None:
    await apply(world, numbered(2, claims=True), placement=of("member1"))
    await world.sleep(60)
    assert set(await pods(world, "member1")) == FIRST
    await annotate(world, None)
    for name, pods_there in (("member2", SECOND), ("member1", FIRST)):
        await world.client.patch(POLICIES, "db", {"spec": {"placement": of(name)}}, "default")
        await world.sleep(120)
        assert set(await pods(world, name)) == pods_there


@in_world()
async def test_copies_that_are_there_keep_their_names(world: World) -> None:
    """Other names are other Pods, with empty claims. So neither a late annotation nor one that goes renames."""
    template = numbered(claims=True)
    del template["metadata"]["annotations"]
    await apply(world, template)
    await world.sleep(60)
    before = await pods(world, "member1")
    assert set(before) == {"db-0", "db-1"}
    await annotate(world, "ByCluster")
    await world.sleep(60)
    assert await pods(world, "member1") == before


@in_world()
async def test_s12_a_stateful_set_that_a_member_has_keeps_its_names_when_it_is_taken_over(world: World) -> None:
    """Harm of before: promoting it had its Pods exchanged for others with empty claims."""
    found = numbered(2, claims=True)
    del found["metadata"]["annotations"]
    await world.member("member1").client.create(STATEFUL_SETS, found, "default")
    await world.sleep(60)
    before = await pods(world, "member1")
    assert set(before) == {"db-0", "db-1"}
    template = numbered(2, claims=True)
    template["metadata"]["annotations"]["work.karmada.io/conflict-resolution"] = "overwrite"
    await apply(world, template, placement={"clusterAffinity": {"clusterNames": ["member1"]}})
    await world.sleep(120)
    assert await pods(world, "member1") == before
    await world.client.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 3}}, "default")
    await world.sleep(60)
    assert set(await pods(world, "member1")) == {"db-0", "db-1", "db-2"}


@in_world()
async def test_s12_a_hub_that_has_forgotten_its_slots_renames_nothing(world: World) -> None:
    """Harm of before: the second cluster got the first one's names, and empty claims."""
    backup = await world.medium.load()
    await apply(world, numbered(claims=True))
    await world.sleep(60)
    before = await pods(world, "member2")
    assert set(before) == SECOND
    await restore(world, backup, controllers_stay=False)
    await world.sleep(30)
    await apply(world, numbered(2, claims=True), placement={"clusterAffinity": {"clusterNames": ["member2"]}})
    await world.sleep(200)
    assert await pods(world, "member2") == before


@in_world()
async def test_an_annotation_that_goes_renames_nothing(world: World) -> None:
    await apply(world, numbered(claims=True))
    await world.sleep(60)
    before = await pods(world, "member1")
    await annotate(world, None)
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(60)
    assert await pods(world, "member1") == before
    assert set(before) == FIRST


@in_world()
async def test_the_slot_of_a_cluster_stays_when_the_application_is_made_anew(world: World) -> None:
    await apply(world, numbered())
    await world.sleep(60)
    await world.client.delete(STATEFUL_SETS, "db", "default")
    await world.sleep(60)
    await world.client.create(STATEFUL_SETS, numbered(), "default")
    await world.sleep(60)
    assert await names(world) == [FIRST, SECOND]


@in_world()
async def test_a_slot_that_two_clusters_have_holds_new_copies_and_says_the_way_out(world: World) -> None:
    await world.client.create(
        CONFIG_MAPS,
        {"metadata": {"name": SLOTS}, "data": {"member1": "1", "member2": "1"}},
        "karmada-system",
    )
    await apply(world, numbered())
    await world.sleep(60)
    assert await names(world) == [set(), set()]
    binding = await world.client.get(RESOURCE_BINDINGS, DB, "default")
    told = next(each for each in binding.status.conditions if each.type == "leeward.dev/OverrideFailed")
    assert "member2: member1 has slot 1 too: write another number" in told.message
    await world.client.patch(CONFIG_MAPS, SLOTS, {"data": {"member2": "7"}}, "karmada-system")
    await world.sleep(60)
    assert await names(world) == [FIRST, {"db-7000", "db-7001"}]


@in_world()
async def test_the_headless_service_comes_along_and_comes_back(world: World) -> None:
    await world.client.create(SERVICES, HEADLESS, "default")
    await apply(world, numbered(), propagateDeps=True)
    await world.sleep(60)
    for name in ("member1", "member2"):
        found = (await world.member(name).client.list(SERVICES, "default")).items
        assert "db" in {each["metadata"]["name"] for each in found}


@in_world()
async def test_s12_volumes_that_have_other_names_do_not_follow(world: World) -> None:
    await apply(world, numbered(claims=True))
    await world.client.patch(
        POLICIES, "db", {"metadata": {"annotations": {VOLUMES_FOLLOW_ANNOTATION: "true"}}}, "default"
    )
    await world.sleep(60)
    before = await pods(world, "member1")
    world.member("member1").pause()
    await world.sleep(1200)
    assert (world.assigned(DB), held(world, DB)) == ({"member1": 2, "member2": 2}, "VolumesStay")
    world.member("member1").resume()
    await world.sleep(300)
    assert await pods(world, "member1") == before
