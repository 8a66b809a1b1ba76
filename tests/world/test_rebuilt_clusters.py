"""Clusters that were rebuilt under their name: nothing comes up on new and empty volumes before somebody accepts it."""

import pytest

from kubeapi.codec import to_wire
from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeserver.store.medium import Loaded
from leeward.answers.explanation import Explanation
from leeward.answers.subjects import asked_of, explain_in
from leeward.answers.timeline import OutageFilter, timeline
from leeward.api.meta import find_condition
from leeward.api.names import (
    CONFIRMED_IDENTITY_ANNOTATION,
    IDENTITY_CONDITION,
    REPLACED_CONDITION,
    VOLUMES_HELD_CONDITION,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.core.cluster_health.cluster_identity import accepted_identity, replaced_by
from leeward.manager.settings import ManagerSettings
from leeward.operations.status import look_at_fleet
from leeward.operations.taints import confirm_replaced
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import POLICIES, apply, deployment, held, identities, in_world, play, policy, tasks
from tests.world.test_claims_found_again import ONE, runs
from tests.world.test_dependencies_with_data import CLAIMS, WEB
from tests.world.test_explain import explain_cluster
from tests.world.test_ownership import on
from tests.world.test_stateful_sets import DB, STATEFUL_SETS, stateful_set

MODES: tuple[Mode, ...] = ("Push", "Pull")
IN_WORK = work_name("StatefulSet", "db", "default")


def members(mode: Mode) -> dict[str, Mode]:
    return dict.fromkeys(("member1", "member2", "member3"), mode)


async def db_runs(world: World) -> None:
    """A StatefulSet with volumes and a Deployment without, both in member1."""
    await world.client.create(STATEFUL_SETS, stateful_set(), "default")
    await world.client.create(POLICIES, policy("db", on("member1"), "StatefulSet"), "default")
    await apply(world.client, deployment("web", 2), policy("web", on("member1")))
    await world.sleep(90)
    assert set(await sets(world)) == {"member1"}


async def sets(world: World) -> dict[str, tuple[str, int]]:
    return await identities(world, "db", resource=STATEFUL_SETS)


async def rebuilt(world: World, name: str, away_seconds: float = 0) -> None:
    """The member is made anew, with nothing in it, while nobody or everybody looks."""
    member = world.member(name)
    await member.stop()
    member.medium.replace(Loaded((), 0))
    await world.sleep(away_seconds)
    await member.start()


def said(world: World, name: str, condition_type: str) -> str:
    """The message of a condition of a Cluster that is True."""
    found = find_condition(world.cluster(name).status.conditions, condition_type)
    return found.message if found is not None and found.status == "True" else ""


def held_in_work(world: World, name: str = "member1", work: str = IN_WORK) -> str:
    found = world.work(name, work)
    condition = find_condition(found.status.conditions, VOLUMES_HELD_CONDITION) if found is not None else None
    return condition.message if condition is not None and condition.status == "True" else ""


def held_in_binding(world: World, name: str = DB) -> str:
    found = world.binding(name)
    condition = find_condition(found.status.conditions, VOLUMES_HELD_CONDITION) if found is not None else None
    return condition.message if condition is not None else ""


async def explain(world: World) -> Explanation:
    answer = explain_in(await picture(world), asked_of("sts/db", "default"))
    assert isinstance(answer, Explanation)
    return answer


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("away_seconds", [0, 120, 900])
def test_s5_a_set_does_not_start_empty_in_a_rebuilt_cluster_before_somebody_accepts_that(
    mode: Mode, away_seconds: float
) -> None:
    async def story(world: World) -> None:
        await db_runs(world)
        first = accepted_identity(world.cluster("member1"))
        assert first == world.member("member1").identity
        await rebuilt(world, "member1", away_seconds)
        await world.sleep(240)
        now = world.member("member1").identity
        assert now != first
        assert world.is_ready("member1")
        assert await sets(world) == {}
        assert set(await identities(world, "web")) == {"member1"}, "without volumes it comes up as ever"
        assert said(world, "member1", REPLACED_CONDITION).startswith(f"{now} ")
        assert "leeward confirm member1" in said(world, "member1", REPLACED_CONDITION)
        assert "leeward confirm member1" in held_in_work(world)
        assert "leeward confirm member1" in held_in_binding(world)
        binding = world.binding(DB)
        assert binding is not None
        (item,) = binding.status.aggregated_status
        assert (item.applied, item.health, item.status) == (None, "Unknown", None)
        reasons = [event.reason for event in (await world.client.list(EVENTS, "default")).items]
        assert {"ClusterReplaced", "VolumesHeld"} <= set(reasons)

        assert await confirm_replaced(world.client, "member1") == now
        await world.sleep(60)
        assert set(await sets(world)) == {"member1"}
        assert said(world, "member1", REPLACED_CONDITION) == ""
        assert said(world, "member1", IDENTITY_CONDITION) == now
        assert (held_in_work(world), held_in_binding(world)) == ("", "")
        assert await confirm_replaced(world.client, "member1") == "", "there is nothing to confirm"

    play(story, members(mode))


@pytest.mark.parametrize("mode", MODES)
def test_s5_an_old_confirmation_does_not_hold_for_the_next_rebuild(mode: Mode) -> None:
    async def story(world: World) -> None:
        await db_runs(world)
        await rebuilt(world, "member1", 120)
        await world.sleep(120)
        await confirm_replaced(world.client, "member1")
        await world.sleep(60)
        assert set(await sets(world)) == {"member1"}
        await rebuilt(world, "member1", 120)
        await world.sleep(240)
        assert await sets(world) == {}
        assert replaced_by(world.cluster("member1")) == world.member("member1").identity

    play(story, members(mode))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_changed_while_it_is_held_stays_held_and_what_is_deleted_goes(mode: Mode) -> None:
    async def story(world: World) -> None:
        await db_runs(world)
        await rebuilt(world, "member1", 60)
        await world.sleep(180)
        await world.client.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 3}}, "default")
        await world.sleep(60)
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(180)
        assert await sets(world) == {}
        assert held_in_binding(world)
        await world.client.delete(STATEFUL_SETS, "db", "default")
        await world.until(lambda: world.binding(DB) is None, 120)
        assert world.work("member1", IN_WORK) is None

    play(story, members(mode))


@pytest.mark.parametrize("mode", MODES)
def test_a_member_that_is_restored_from_its_own_backup_is_the_same_cluster(mode: Mode) -> None:
    async def story(world: World) -> None:
        await db_runs(world)
        before, member = await sets(world), world.member("member1")
        backup = await member.contents()
        await member.stop()
        member.medium.replace(backup)
        await world.sleep(120)
        await member.start()
        await world.sleep(180)
        assert await sets(world) == before
        assert find_condition(world.cluster("member1").status.conditions, REPLACED_CONDITION) is None

    play(story, members(mode))


@in_world(members("Push"))
async def test_a_set_that_was_restored_in_the_rebuilt_cluster_is_kept_there(world: World) -> None:
    await db_runs(world)
    member = world.member("member1")
    kept = await member.client.get(STATEFUL_SETS, "db", "default")
    await rebuilt(world, "member1", 60)
    await world.sleep(180)
    metadata = {key: kept["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    await member.client.create(STATEFUL_SETS, {**kept, "metadata": metadata, "status": {}}, "default")
    restored = await sets(world)
    await world.sleep(90)
    assert {name: uid for name, (uid, _) in (await sets(world)).items()} == {
        name: uid for name, (uid, _) in restored.items()
    }
    assert held_in_binding(world) == ""


@pytest.mark.parametrize("mode", MODES)
def test_what_has_moved_needs_nothing_and_its_old_claim_is_not_made_empty(mode: Mode) -> None:
    async def story(world: World) -> None:
        (old,) = await runs(world)
        await world.member(old).stop()
        world.member(old).medium.replace(Loaded((), 0))
        await world.until(lambda: set(world.assigned(WEB)) not in (set(), {old}))
        (new,) = world.assigned(WEB)
        await world.until(lambda: not tasks(world, WEB))
        before = await identities(world, "data", [new], CLAIMS)
        assert set(before) == {new}
        await world.member(old).start()
        await world.sleep(240)
        assert await identities(world, "data", resource=CLAIMS) == before
        assert world.assigned(WEB) == {new: 2}
        assert (held(world, WEB), held_in_binding(world, WEB)) == ("", "")

    play(story, members(mode))


@in_world(members("Push"))
async def test_claims_and_what_names_them_wait_as_well(world: World) -> None:
    (old,) = await runs(world, {"clusterAffinity": {"clusterNames": ["member1"]}})
    await rebuilt(world, old)
    await world.sleep(180)
    assert await identities(world, "data", resource=CLAIMS) == {}
    assert await identities(world, "web") == {}
    assert held_in_binding(world, WEB)
    await confirm_replaced(world.client, old)
    await world.sleep(60)
    assert set(await identities(world, "data", resource=CLAIMS)) == {old}
    assert set(await identities(world, "web")) == {old}


@pytest.mark.parametrize("mode", MODES)
def test_who_asks_is_told_of_a_rebuilt_cluster(mode: Mode) -> None:
    async def story(world: World) -> None:
        await db_runs(world)
        await rebuilt(world, "member1", 400)
        await world.sleep(240)
        seen = await look_at_fleet(world.client, world.clock)
        told = {finding.about: finding for finding in seen.findings}
        assert told["cluster/member1"].next == "leeward confirm member1"
        assert "not made, for its volumes" in told["statefulset/default/db"].sentence
        why = await explain(world)
        assert "not made, for its volumes" in why.headline
        assert "leeward confirm member1" in why.headline
        cluster = await explain_cluster(world, "member1")
        assert cluster.needs_somebody
        assert any("leeward confirm member1" in each for each in cluster.why)
        (outage,) = timeline(await picture(world), OutageFilter(cluster="member1")).outages
        assert "leeward confirm member1" in outage.story[-1].sentence

    play(story, members(mode))


@in_world(members("Push"))
async def test_a_cluster_that_is_joined_anew_is_another_one_for_everybody(world: World) -> None:
    """The other way out: `leeward unjoin`, and join again."""
    await db_runs(world)
    await rebuilt(world, "member1", 60)
    await world.sleep(180)
    await world.client.delete(CLUSTERS, "member1")
    await world.until(lambda: not any(c == "member1" for c in world.assigned(DB)), 300)
    await world.sleep(60)
    await world.register(world.member("member1"), world.client)
    await world.sleep(180)
    assert set(await sets(world)) == {"member1"}
    assert accepted_identity(world.cluster("member1")) == world.member("member1").identity


@in_world(members("Push"), manager=ManagerSettings().karmada_exact())
async def test_karmada_exact_makes_it_as_karmada_does(world: World) -> None:
    await db_runs(world)
    await rebuilt(world, "member1", 60)
    await world.sleep(180)
    assert set(await sets(world)) == {"member1"}
    assert find_condition(world.cluster("member1").status.conditions, REPLACED_CONDITION) is None


@in_world(members("Push"))
async def test_the_id_that_somebody_writes_into_the_cluster_confirms_nothing(world: World) -> None:
    await db_runs(world)
    await rebuilt(world, "member1", 120)
    await world.client.patch(CLUSTERS, "member1", {"spec": {"id": world.member("member1").identity}})
    await world.sleep(240)
    assert await sets(world) == {}
    annotations = {CONFIRMED_IDENTITY_ANNOTATION: world.member("member1").identity}
    await world.client.patch(CLUSTERS, "member1", {"metadata": {"annotations": annotations}})
    await world.sleep(60)
    assert set(await sets(world)) == {"member1"}


async def upgraded(world: World, joined_as: str) -> None:
    """The control plane stops, and is to start as one that has never recorded an identity."""
    await world.stop_controllers()
    known = await world.client.get(CLUSTERS, "member1")
    conditions = [each for each in to_wire(known)["status"]["conditions"] if each["type"] != IDENTITY_CONDITION]
    await world.client.patch(CLUSTERS, "member1", {"spec": {"id": joined_as}})
    await world.client.patch(CLUSTERS, "member1", {"status": {"conditions": conditions}}, subresource="status")


@pytest.mark.parametrize("joined_as", ["prod-eu-1", "0b7a52f4-6c39-4a57-9a0c-3f1d8e2b6c01"])
@in_world(members("Push"))
async def test_an_upgrade_accepts_the_cluster_that_is_ready_whatever_its_id(world: World, joined_as: str) -> None:
    await world.sleep(90)
    await upgraded(world, joined_as)
    world.start_controllers()
    await world.sleep(60)
    assert said(world, "member1", IDENTITY_CONDITION) == world.member("member1").identity
    await db_runs(world)
    assert find_condition(world.cluster("member1").status.conditions, REPLACED_CONDITION) is None


@in_world(members("Push"))
async def test_an_upgrade_asks_about_a_cluster_that_was_away_and_is_not_the_one_that_joined(world: World) -> None:
    await db_runs(world)
    member = world.member("member1")
    joined_as = member.identity
    await member.stop()
    await world.until(lambda: not world.is_ready("member1"))
    await upgraded(world, joined_as)
    member.medium.replace(Loaded((), 0))
    world.start_controllers()
    await world.sleep(60)
    await member.start()
    await world.sleep(180)
    assert replaced_by(world.cluster("member1")) == member.identity
    assert await sets(world) == {}


def other_set(name: str = "db2") -> Manifest:
    made = stateful_set()
    return {**made, "metadata": {"name": name}}


@pytest.mark.parametrize("mode", MODES)
def test_a_set_that_is_new_is_made_in_a_rebuilt_cluster_at_once(mode: Mode) -> None:
    async def story(world: World) -> None:
        await db_runs(world)
        await rebuilt(world, "member1", 120)
        await world.sleep(180)
        await world.client.create(STATEFUL_SETS, other_set(), "default")
        await world.client.create(POLICIES, policy("db2", on("member1"), "StatefulSet"), "default")
        await world.sleep(90)
        made = await identities(world, "db2", resource=STATEFUL_SETS)
        assert set(made) == {"member1"}
        assert held_in_binding(world, "db2-statefulset") == ""
        assert (await sets(world), bool(held_in_binding(world))) == ({}, True)
        await rebuilt(world, "member1", 120)
        await world.sleep(180)
        assert await identities(world, "db2", resource=STATEFUL_SETS) == {}, "it was there before the next rebuild"
        assert held_in_binding(world, "db2-statefulset")

    play(story, members(mode))


@pytest.mark.parametrize("mode", MODES)
def test_an_application_that_was_never_there_fails_over_to_a_rebuilt_cluster(mode: Mode) -> None:
    async def story(world: World) -> None:
        (old,) = await runs(world, {**ONE, **on("member1", "member2")})
        (new,) = {"member1", "member2"} - {old}
        await world.client.create(STATEFUL_SETS, stateful_set(), "default")
        await world.client.create(POLICIES, policy("db", on(new), "StatefulSet"), "default")
        await world.sleep(60)
        await rebuilt(world, new, 60)
        await world.sleep(180)
        assert replaced_by(world.cluster(new))
        await world.member(old).stop()
        await world.until(lambda: set(world.assigned(WEB)) not in (set(), {old}))
        await world.sleep(60)
        assert set(await identities(world, "data", [new], CLAIMS)) == {new}
        assert set(await identities(world, "web", [new])) == {new}
        assert await identities(world, "db", [new], STATEFUL_SETS) == {}

    play(story, members(mode))


@pytest.mark.parametrize("restarts", [False, True])
@in_world(members("Push"))
async def test_a_work_that_somebody_deletes_is_made_anew_and_held_as_before(world: World, restarts: bool) -> None:
    await db_runs(world)
    await rebuilt(world, "member1", 60)
    await world.sleep(180)
    before, space = world.work("member1", IN_WORK), execution_space("member1")
    if restarts:
        await world.stop_controllers()
        await world.client.patch(WORKS, IN_WORK, {"metadata": {"finalizers": None}}, space)
    await world.client.delete(WORKS, IN_WORK, space)
    if restarts:
        world.start_controllers()
    await world.sleep(120)
    after = world.work("member1", IN_WORK)
    assert before is not None
    assert after is not None
    assert after.metadata.uid != before.metadata.uid
    assert await sets(world) == {}
    assert held_in_work(world)
