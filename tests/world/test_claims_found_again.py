"""Claims that a template names: the application is placed where they are, when it is made or placed anew."""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import execution_space
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.app.leaving import unjoin_cluster
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, identities, play, policy, ready_replicas, tasks
from tests.world.test_dependencies_in_trouble import THREE_PUSH
from tests.world.test_dependencies_with_data import CLAIMS, DATA, WEB, claim, claiming
from tests.world.test_explain import explain
from tests.world.test_ownership import on
from tests.world.test_restored import restore, with_another_uid

ALL = {"clusterAffinity": {"clusterNames": list(THREE_PUSH)}}
AT_MOST_ONE = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}
ONE: Manifest = {
    **ALL,
    "spreadConstraints": [AT_MOST_ONE],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
AGGREGATED: Manifest = {
    **ALL,
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}
DIVIDED: Manifest = {
    **ALL,
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}


def web(replicas: int = 2) -> Manifest:
    made = claiming("web", "data")
    return {**made, "spec": {**made["spec"], "replicas": replicas}}


async def runs(world: World, placement: Manifest = ONE) -> set[str]:
    """The clusters of an application whose claim follows it."""
    await world.client.create(CLAIMS, claim("data"), "default")
    placing = policy("web", placement)
    await apply(world.client, web(), {**placing, "spec": {**placing["spec"], "propagateDeps": True}})
    await world.sleep(90)
    return set(world.assigned(WEB))


async def claims(world: World) -> dict[str, tuple[str, int]]:
    return await identities(world, "data", resource=CLAIMS)


async def serving(world: World) -> dict[str, int]:
    counts = {member: await ready_replicas(world, member, "web") for member in world.members}
    return {member: count for member, count in counts.items() if count > 0}


async def made_again(world: World, seconds: float) -> None:
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(seconds)
    await apply(world.client, web())


async def delete_binding_of_claim(world: World) -> None:
    await world.client.delete(RESOURCE_BINDINGS, DATA, "default")


async def delete_binding(world: World) -> None:
    await world.client.delete(RESOURCE_BINDINGS, WEB, "default")


async def delete_works(world: World) -> None:
    for member in world.members:
        for work in (await world.client.list(WORKS, execution_space(member))).items:
            if work.name.startswith(("web-", "data-")):
                await world.client.delete(WORKS, work.name, execution_space(member))


async def delete_policy(world: World) -> None:
    await world.client.delete(POLICIES, "web", "default")


async def delete_and_leave_dependents(world: World) -> None:
    await world.client.delete(DEPLOYMENTS, "web", "default", propagation="Orphan")
    await apply(world.client, web())


async def replace_by_force(world: World) -> None:
    await made_again(world, 1)


async def apply_a_minute_later(world: World) -> None:
    await made_again(world, 60)


async def delete_both_bindings(world: World) -> None:
    """Does what `kubectl delete rb --all` does."""
    for name in (DATA, WEB):
        await world.client.delete(RESOURCE_BINDINGS, name, "default")


async def delete_the_other_first(world: World) -> None:
    for name in (WEB, DATA):
        await world.client.delete(RESOURCE_BINDINGS, name, "default")
        await world.sleep(2)


async def delete_both_by_force(world: World) -> None:
    for name in (DATA, WEB):
        await world.client.patch(RESOURCE_BINDINGS, name, {"metadata": {"finalizers": None}}, "default")
        await world.client.delete(RESOURCE_BINDINGS, name, "default")


async def delete_both_beside_a_change_of_leaders(world: World) -> None:
    await delete_both_bindings(world)
    world.crash_controllers()
    await world.sleep(5)
    world.start_controllers()


async def replace_and_delete_binding_of_claim(world: World) -> None:
    await delete_binding_of_claim(world)
    await replace_by_force(world)


CHANGES = (
    delete_both_bindings,
    delete_the_other_first,
    delete_both_by_force,
    delete_both_beside_a_change_of_leaders,
    replace_and_delete_binding_of_claim,
    delete_binding_of_claim,
    delete_binding,
    delete_works,
    delete_policy,
    delete_and_leave_dependents,
    replace_by_force,
    apply_a_minute_later,
)


@pytest.mark.parametrize("mode", ["Push", "Pull"])
@pytest.mark.parametrize("happens", CHANGES)
def test_s12_an_application_finds_its_claim_whatever_somebody_deletes(
    happens: Callable[[World], Awaitable[None]], mode: Mode
) -> None:
    async def story(world: World) -> None:
        here = await runs(world)
        assert len(here) == 1
        before = await claims(world)
        assert set(before) == here
        for _ in range(3):
            await happens(world)
            await world.sleep(120)
            assert await claims(world) == before
            assert set(world.assigned(WEB)) == here
            assert await serving(world) == dict.fromkeys(here, 2)
            if happens is delete_policy:
                break

    play(story, dict.fromkeys(THREE_PUSH, mode))


@pytest.mark.parametrize("placement", [AGGREGATED, DIVIDED], ids=["Aggregated", "Divided"])
def test_s12_replicas_are_divided_to_where_their_claims_are(placement: Manifest) -> None:
    async def story(world: World) -> None:
        here = await runs(world, placement)
        before = await claims(world)
        assert set(before) == here
        for seconds in (1, 60, 1, 60):
            await made_again(world, seconds)
            await world.sleep(90)
            assert await claims(world) == before
            assert set(world.assigned(WEB)) == here
            assert sum((await serving(world)).values()) == 2

    play(story, THREE_PUSH)


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s12_after_a_failover_an_application_finds_the_claim_that_it_used_last(mode: Mode) -> None:
    """The old claim is still where the application was before."""

    async def story(world: World) -> None:
        (old,) = await runs(world)
        await world.member(old).stop()
        await world.until(lambda: set(world.assigned(WEB)) not in (set(), {old}))
        (new,) = world.assigned(WEB)
        await world.until(lambda: not tasks(world, WEB))
        await world.member(old).start()
        await world.sleep(300)
        before = await claims(world)
        assert set(before) == {old, new}
        for seconds in (1, 60):
            await made_again(world, seconds)
            await world.sleep(120)
            assert set(world.assigned(WEB)) == {new}
        assert await claims(world) == before
        assert (
            f"Its claim data is in {new}, {old}: of equally good clusters, {new} comes first."
            in (await explain(world)).why
        )

    play(story, dict.fromkeys(THREE_PUSH, mode))


def test_an_application_moves_away_from_its_claim_in_a_failover_and_is_made_elsewhere_meanwhile() -> None:
    async def story(world: World) -> None:
        (old,) = await runs(world)
        await world.member(old).stop()
        died = world.seconds
        await world.until(lambda: set(world.assigned(WEB)) not in (set(), {old}))
        assert world.seconds - died < 700, "as an application without a claim"
        (new,) = world.assigned(WEB)
        await made_again(world, 1)
        await world.until(lambda: bool(world.assigned(WEB)), 60)
        assert set(world.assigned(WEB)) == {new}

    play(story, THREE_PUSH)


def test_a_claim_in_a_cluster_that_has_just_died_is_not_waited_for() -> None:
    async def story(world: World) -> None:
        (old,) = await runs(world)
        await world.member(old).stop()
        await world.until(lambda: not world.is_ready(old), 120)
        await made_again(world, 10)
        await world.until(lambda: bool(world.assigned(WEB)), 60)
        assert old not in world.assigned(WEB)

    play(story, THREE_PUSH)


def test_an_application_goes_to_a_claim_that_has_a_policy_of_its_own() -> None:
    async def story(world: World) -> None:
        await world.client.create(CLAIMS, claim("data"), "default")
        await apply(world.client, policy("data", on("member3"), "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        await apply(world.client, web(), policy("web", ONE))
        await world.sleep(60)
        assert world.assigned(WEB) == {"member3": 2}
        assert (
            "Its claim data is in member3: of equally good clusters, member3 comes first." in (await explain(world)).why
        )

    play(story, THREE_PUSH)


def test_an_application_whose_claim_is_where_it_may_not_be_goes_elsewhere() -> None:
    async def story(world: World) -> None:
        await world.client.create(CLAIMS, claim("data"), "default")
        await apply(world.client, policy("data", on("member3"), "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        elsewhere = {**ONE, "clusterAffinity": {"clusterNames": ["member1", "member2"]}}
        await apply(world.client, web(), policy("web", elsewhere))
        await world.sleep(60)
        assert len(world.assigned(WEB)) == 1
        assert "Its claim data is in member3: no copy can be placed there now." in (await explain(world)).why

    play(story, THREE_PUSH)


async def in_two_clusters(world: World) -> dict[str, tuple[str, int]]:
    """Moves the application once, so that its claim is in two clusters."""
    (old,) = await runs(world)
    await world.member(old).stop()
    await world.until(lambda: set(world.assigned(WEB)) not in (set(), {old}))
    await world.until(lambda: not tasks(world, WEB))
    await world.member(old).start()
    await world.sleep(300)
    found = await claims(world)
    assert len(found) == 2
    return found


@pytest.mark.parametrize("unjoins", [False, True])
@pytest.mark.parametrize("happens", [delete_both_bindings, delete_the_other_first, delete_both_by_force])
def test_s12_a_claim_that_its_application_has_left_stays_whoever_deletes_both_bindings(
    happens: Callable[[World], Awaitable[None]], *, unjoins: bool
) -> None:
    """Nobody can tell then which of the two holds the newer data: neither goes, and no third one is made."""

    async def story(world: World) -> None:
        before = await in_two_clusters(world)
        for _ in range(2):
            await happens(world)
            await world.sleep(200)
            assert await claims(world) == before
            assert set(world.assigned(WEB)) < set(before)
        old = next(iter(set(before) - set(world.assigned(WEB))))
        if unjoins:
            await unjoin_cluster(world.client, old, world.clock, force=False, wait_seconds=60, tell=lambda _: None)
        await world.client.delete(CLAIMS, "data", "default")
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(200)
        assert set(await claims(world)) == ({old} if unjoins else set()), "they go with their template"

    play(story, THREE_PUSH)


def test_s12_claims_that_two_applications_share_stay_in_the_clusters_of_both() -> None:
    async def story(world: World) -> None:
        await world.client.create(CLAIMS, claim("data"), "default")
        for name, there in (("web", "member1"), ("api", "member2")):
            placing = policy(name, on(there))
            await apply(
                world.client, claiming(name, "data"), {**placing, "spec": {**placing["spec"], "propagateDeps": True}}
            )
        await world.sleep(90)
        before = await claims(world)
        assert set(before) == {"member1", "member2"}
        await world.client.delete(POLICIES, "api", "default")
        for name in ("api-deployment", WEB, DATA):
            await world.client.delete(RESOURCE_BINDINGS, name, "default")
        await world.sleep(300)
        assert await claims(world) == before

    play(story, THREE_PUSH)


@pytest.mark.parametrize("dies", [False, True])
def test_s12_a_claim_with_a_policy_of_its_own_stays_in_its_only_cluster(*, dies: bool) -> None:
    """Both bindings are deleted together, also while its cluster is away."""

    async def story(world: World) -> None:
        await world.client.create(CLAIMS, claim("data"), "default")
        await apply(world.client, policy("data", ONE, "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        await apply(world.client, web(), policy("web", ONE))
        await world.sleep(60)
        (here,) = before = await claims(world)
        if dies:
            await world.member(here).stop()
            await world.sleep(120)
        await delete_both_bindings(world)
        await world.sleep(120)
        assert set(world.assigned(DATA)) == {here}
        if dies:
            await world.member(here).start()
            await world.sleep(600)
        else:
            assert set(world.assigned(WEB)) == {here}
        assert await claims(world) == before

    play(story, THREE_PUSH)


def test_s12_a_claim_that_others_need_beside_its_own_policy_stays_in_both_clusters() -> None:
    """The new binding is placed, and nobody has said yet who else needs it."""

    async def story(world: World) -> None:
        await world.client.create(CLAIMS, claim("data"), "default")
        await apply(world.client, policy("data", ONE, "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        (own,) = world.assigned(DATA)
        (other, *_) = set(THREE_PUSH) - {own}
        placing = policy("web", on(other))
        await apply(world.client, web(), {**placing, "spec": {**placing["spec"], "propagateDeps": True}})
        await world.sleep(60)
        before = await claims(world)
        assert set(before) == {own, other}
        for _ in range(2):
            await delete_both_bindings(world)
            await world.sleep(200)
            assert await claims(world) == before

    play(story, THREE_PUSH)


@pytest.mark.parametrize("controllers_stay", [False, True])
def test_s12_claims_stay_in_a_restored_hub_that_gives_their_template_another_uid(*, controllers_stay: bool) -> None:
    """Templates and Works were restored object by object, and the claim's binding was not."""

    async def story(world: World) -> None:
        before = await in_two_clusters(world)
        backup = with_another_uid(await world.medium.load(), "/persistentvolumeclaims/default/data")
        await restore(world, backup, controllers_stay=controllers_stay, without=DATA)
        for happens in (delete_both_bindings, delete_both_by_force):
            await world.sleep(300)
            assert await claims(world) == before
            await happens(world)
        await world.sleep(300)
        assert await claims(world) == before

    play(story, THREE_PUSH)
