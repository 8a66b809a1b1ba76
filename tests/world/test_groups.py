"""Groups that move together: one place, one decision and one hold for all; nobody is left alone on either side."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubecluster.kinds import PODS
from kubecluster.settings import WorkloadSettings
from leeward.answers.explanation import Explanation
from leeward.answers.fates import Fate
from leeward.answers.imagined import ImaginedChange
from leeward.answers.replay import replay
from leeward.answers.subjects import asked_of, explain_in, read_asked, record_of
from leeward.answers.what_if import what_if
from leeward.api.meta import find_condition
from leeward.api.moves_with import GROUP_LEFT, MOVES_WITH_ANNOTATION
from leeward.api.names import EVICTION_HELD_CONDITION, FAILBACK_AFTER_ANNOTATION, FAILBACK_ANNOTATION
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.operations.drain import start_drain
from leeward.planning.recording import decode_recorded
from leeward.sim.world import Mode, World
from tests.world.estimators import WorldEstimator, play_with_estimators
from tests.world.pictures import picture
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    held,
    play,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_quota import asking
from tests.world.test_stateful_sets import STATEFUL_SETS, stateful_set

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
ONE = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
WEB, DB = "web-deployment", "db-deployment"
PURGED: dict[str, Any] = {"failover": {"cluster": {"purgeMode": "Directly"}}}


def member_of(group: str | None, name: str, clusters: tuple[str, ...] = tuple(THREE), **spec: Any) -> Manifest:
    """Policy of one template that has one copy, in one of these clusters, and that moves with the group."""
    made = policy(name, {"clusterAffinity": {"clusterNames": list(clusters)}, "spreadConstraints": ONE})
    made["metadata"]["annotations"] = {MOVES_WITH_ANNOTATION: group} if group else {}
    made["spec"] |= spec
    return made


def failing_over(seconds: int = 60) -> dict[str, Any]:
    application = {"decisionConditions": {"tolerationSeconds": seconds}}
    return {"propagateDeps": True, "failover": {"application": application}}


def place(world: World, name: str) -> str:
    (cluster,) = world.assigned(name) or ("",)
    return cluster


def together(world: World, *names: str) -> str:
    """The one place of all of them; empty where they have several."""
    found = {place(world, name) for name in names or (WEB, DB)}
    return found.pop() if len(found) == 1 else ""


def said(world: World, name: str) -> str:
    found = world.binding(name)
    condition = find_condition(found.status.conditions, EVICTION_HELD_CONDITION) if found else None
    return condition.message if condition else ""


async def running(world: World, *policies: Manifest) -> str:
    """Two applications of a group that serve in one place. Returns the place."""
    wanted = policies or (member_of("shop", "web"), member_of("shop", "db"))
    for each in wanted:
        await apply(world.client, deployment(each["metadata"]["name"], 2), each)
    names = [f"{each['metadata']['name']}-deployment" for each in wanted]
    await world.until(lambda: bool(together(world, *names)), 60)
    await world.sleep(60)
    return together(world, *names)


async def serve(world: World, member: str, *names: str) -> bool:
    return all([await ready_replicas(world, member, name) == 2 for name in names or ("web", "db")])


async def fail(world: World, member: str, name: str) -> None:
    """Pods of one application find no node in the member any more; all that runs there runs on."""
    await without_room(world, member)
    client = world.member(member).client
    for pod in (await client.list(PODS, "default")).items:
        if pod["metadata"]["labels"].get("app") == name:
            await client.delete(PODS, pod["metadata"]["name"], "default")


async def annotate(world: World, name: str, group: str | None) -> None:
    change = {"metadata": {"annotations": {MOVES_WITH_ANNOTATION: group}}}
    await world.client.patch(POLICIES, name, change, "default")


async def suspend(world: World, name: str, suspended: bool) -> None:
    await world.client.patch(POLICIES, name, {"spec": {"suspension": {"dispatching": suspended or None}}}, "default")


async def never_parted(world: World, seconds: int, *names: str) -> None:
    """Nobody is left alone for longer than the writes of one decision take."""
    for _ in range(seconds):
        await world.sleep(1)
        if not together(world, *names):
            await world.sleep(2)
            assert together(world, *names)


def test_members_are_placed_together_though_each_alone_would_be_elsewhere() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), member_of("shop", "web", ("member2", "member3")))
        await world.until(lambda: place(world, WEB) == "member2", 60)
        await apply(world.client, deployment("db", 2), member_of("shop", "db"))
        await world.until(lambda: place(world, DB) == "member2", 60)
        await apply(world.client, deployment("other", 2), member_of(None, "other"))
        await world.until(lambda: place(world, "other-deployment") == "member1", 60)

    play(story, THREE)


def test_a_group_is_placed_where_all_members_fit() -> None:
    """Each would choose another cluster. Where none is for both, nobody is placed, and the reason names who."""

    async def story(world: World) -> None:
        template = deployment("web", 2)
        template["metadata"]["annotations"] = {MOVES_WITH_ANNOTATION: "shop"}
        both = [member_of(None, "web", ("member1", "member2")), member_of("shop", "db", ("member2", "member3"))]
        await apply(world.client, template, deployment("db", 2))
        await apply(world.client, *both)
        await world.until(lambda: together(world) == "member2", 60)

    play(story, THREE)


def test_a_member_that_fits_nowhere_with_the_others_waits_and_says_so() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web", ("member1",)))
        await apply(world.client, deployment("db", 2), member_of("shop", "db", ("member2", "member3")))
        await world.sleep(60)
        binding = world.binding(DB)
        scheduled = find_condition(binding.status.conditions, "Scheduled") if binding else None
        assert (home, place(world, DB)) == ("member1", "")
        assert scheduled is not None
        assert (scheduled.status, "group shop" in scheduled.message) == ("False", True)
        await annotate(world, "db", None)
        await world.until(lambda: place(world, DB) == "member2", 120)

    play(story, THREE)


def test_s21_all_leave_a_dead_cluster_for_one_place() -> None:
    async def story(world: World) -> None:
        home = await running(world)
        await world.member(home).stop()
        await world.until(lambda: place(world, WEB) != home, 900)
        await never_parted(world, 120)
        assert together(world) != home
        assert await serve(world, together(world))

    play(story, THREE)


def test_s21_where_one_finds_no_room_nobody_leaves_and_all_say_who() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1",)))
        await world.member(home).stop()
        await world.until(lambda: held(world, WEB) == "GroupHeld", 900)
        await never_parted(world, 300)
        assert together(world) == home
        assert "Deployment db cannot move" in said(world, WEB)
        assert held(world, DB) == "NoPlaceToGo"
        wider = {"spec": {"placement": {"clusterAffinity": {"clusterNames": list(THREE)}}}}
        await world.client.patch(POLICIES, "db", wider, "default")
        await world.until(lambda: together(world) not in ("", home), 300)
        await world.sleep(60)
        assert await serve(world, together(world))

    play(story, THREE)


def test_a_failed_application_takes_its_group_along_and_nothing_stops_serving() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web", **failing_over()), member_of("shop", "db"))
        await fail(world, home, "web")
        await world.until(lambda: place(world, WEB) != home, 300)
        await world.until(lambda: bool(together(world)), 5)
        binding = world.binding(DB)
        assert binding is not None
        assert [(t.from_cluster, t.reason, t.purge_mode) for t in binding.spec.graceful_eviction_tasks] == [
            (home, GROUP_LEFT, "Gracefully")
        ]
        goal = together(world)
        for _ in range(120):
            await world.sleep(1)
            assert max(await ready_replicas(world, home, "db"), await ready_replicas(world, goal, "db")) == 2
        assert await serve(world, goal)
        assert await ready_replicas(world, home, "db") == -1
        await with_room(world, home)
        await world.sleep(600)
        assert (together(world), tasks(world, WEB), tasks(world, DB)) == (goal, [], [])

    play(story, THREE)


@pytest.mark.parametrize("why", ["nowhere else", "dispatching suspended", "purged first"])
def test_a_member_that_may_not_leave_holds_the_failed_one(why: str) -> None:
    async def story(world: World) -> None:
        allowed = ("member1",) if why == "nowhere else" else tuple(THREE)
        more = PURGED if why == "purged first" else {}
        home = await running(
            world, member_of("shop", "web", **failing_over()), member_of("shop", "db", allowed, **more)
        )
        if why == "dispatching suspended":
            await suspend(world, "db", True)
        await fail(world, home, "web")
        await world.until(lambda: held(world, WEB) == "GroupHeld", 300)
        await never_parted(world, 300)
        assert (together(world), tasks(world, DB)) == (home, [])
        assert "group shop" in said(world, WEB)
        assert "Deployment db cannot move" in said(world, WEB)
        assert await ready_replicas(world, home, "db") == 2
        await annotate(world, "db", None)
        await world.until(lambda: place(world, WEB) != home, 300)
        assert place(world, DB) == home

    play(story, THREE)


def test_a_restart_in_the_middle_parts_nobody() -> None:
    """The first member has been written when the controllers end: their successors bring the other one along."""

    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web", **failing_over()), member_of("shop", "db"))
        await fail(world, home, "web")
        await world.until(lambda: place(world, WEB) != home, 300)
        world.crash_controllers()
        await world.sleep(30)
        assert place(world, DB) == home
        world.start_controllers()
        await world.until(lambda: bool(together(world)), 60)
        await world.sleep(120)
        assert await serve(world, together(world))
        assert together(world) != home

    play(story, THREE)


def test_members_fail_back_together() -> None:
    async def story(world: World) -> None:
        wanted = [member_of("shop", "web"), member_of("shop", "db")]
        back = {FAILBACK_ANNOTATION: "Automatic", FAILBACK_AFTER_ANNOTATION: "5m"}
        wanted[0]["metadata"]["annotations"] |= back
        home = await running(world, *wanted)
        await world.member(home).stop()
        await world.until(lambda: together(world) not in ("", home), 900)
        await world.sleep(60)
        await world.member(home).start()
        await world.until(lambda: place(world, WEB) == home, 1_200)
        await never_parted(world, 300)
        assert together(world) == home
        assert await serve(world, home)

    play(story, THREE)


def test_a_cluster_that_comes_back_parts_nobody() -> None:
    """One member serves in the new place when the old cluster answers again, and the other one does not yet."""

    async def story(world: World) -> None:
        home = await running(world)
        for name in THREE:
            if name != home:
                await without_room(world, name)
        await world.member(home).stop()
        await world.until(lambda: together(world) not in ("", home), 900)
        await world.member(home).start()
        await never_parted(world, 600)
        assert together(world) == home
        assert await serve(world, home)

    play(story, THREE)


def test_a_member_that_serves_in_the_new_place_keeps_the_other_one_there() -> None:
    """The old copy of one serves again, and its replacement cannot; it is no reason to part from the other one."""

    async def story(world: World) -> None:
        home = await running(world)
        await world.member(home).stop()
        await world.until(lambda: together(world) not in ("", home), 900)
        goal = together(world)
        await world.sleep(60)
        await fail(world, goal, "web")
        await world.sleep(60)
        assert (await ready_replicas(world, goal, "db"), await ready_replicas(world, goal, "web")) == (2, 0)
        await world.member(home).start()
        await never_parted(world, 1_800)
        serving = [each for each in (home, together(world)) if await ready_replicas(world, each, "web") == 2]
        assert serving, "the old copy serves on, or the group has found a third place"

    play(story, THREE)


def test_a_member_that_tolerates_the_outage_for_ever_holds_the_group() -> None:
    async def story(world: World) -> None:
        keys = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
        tolerant = member_of("shop", "db")
        tolerant["spec"]["placement"]["clusterTolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute"} for key in keys
        ]
        home = await running(world, member_of("shop", "web"), tolerant)
        await world.member(home).stop()
        await world.until(lambda: held(world, WEB) == "GroupHeld", 900)
        await never_parted(world, 120)
        assert f"It tolerates the taints of {home}" in said(world, WEB)

    play(story, THREE)


def test_a_longer_toleration_is_cut_short_for_the_group() -> None:
    async def story(world: World) -> None:
        keys = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
        patient = member_of("shop", "db")
        patient["spec"]["placement"]["clusterTolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3_000} for key in keys
        ]
        home = await running(world, member_of("shop", "web"), patient)
        await world.member(home).stop()
        await world.until(lambda: place(world, WEB) != home, 900)
        await never_parted(world, 120)
        assert await serve(world, together(world))

    play(story, THREE)


def test_terms_of_one_cluster_each_are_left_and_found_again_together() -> None:
    async def story(world: World) -> None:
        terms = [{"affinityName": name, "clusterNames": [name]} for name in THREE]
        wanted = [policy(name, {"clusterAffinities": terms}) for name in ("web", "db")]
        back = {FAILBACK_ANNOTATION: "Automatic", FAILBACK_AFTER_ANNOTATION: "5m"}
        for each in wanted:
            each["metadata"]["annotations"] = {MOVES_WITH_ANNOTATION: "shop", **back}
        home = await running(world, *wanted)
        assert home == "member1"
        await world.member(home).stop()
        await world.until(lambda: place(world, WEB) == "member2", 900)
        await never_parted(world, 60)
        await world.member(home).start()
        await world.until(lambda: place(world, WEB) == home, 1_200)
        await never_parted(world, 120)
        assert await serve(world, home)

    play(story, THREE)


def test_one_policy_that_is_edited_moves_all_that_it_claims() -> None:
    async def story(world: World) -> None:
        wanted = member_of("shop", "web")
        wanted["spec"]["resourceSelectors"] += policy("db", {})["spec"]["resourceSelectors"]
        await apply(world.client, deployment("web", 2), deployment("db", 2), wanted)
        await world.until(lambda: together(world) == "member1", 60)
        await world.sleep(60)
        narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member2", "member3"]}}}}
        await world.client.patch(POLICIES, "web", narrower, "default")
        await world.until(lambda: place(world, WEB) == "member2", 60)
        await never_parted(world, 60)
        assert await serve(world, "member2")

    play(story, THREE)


def test_a_drain_takes_all_whatever_its_budget() -> None:
    async def story(world: World) -> None:
        home = await running(world)
        await start_drain(world.client, home, 1)
        await world.until(lambda: place(world, WEB) != home, 120)
        await never_parted(world, 120)
        assert await serve(world, together(world))

    play(story, THREE)


def test_the_brake_holds_all() -> None:
    async def story(world: World) -> None:
        home = await running(world)
        await world.member(home).stop()
        await world.sleep(480)
        for name in THREE:
            if name != home:
                await world.member(name).stop()
        await never_parted(world, 600)
        assert (together(world), held(world, WEB), held(world, DB)) == (home, "BrakeEngaged", "BrakeEngaged")

    play(story, THREE)


def test_volumes_that_stay_hold_the_group() -> None:
    async def story(world: World) -> None:
        wanted = policy("db", {"spreadConstraints": ONE}, "StatefulSet")
        wanted["metadata"]["annotations"] = {MOVES_WITH_ANNOTATION: "shop"}
        await world.client.create(STATEFUL_SETS, stateful_set(), "default")
        await apply(world.client, wanted)
        home = await running(world, member_of("shop", "web"))
        assert place(world, "db-statefulset") == home
        await world.member(home).stop()
        await world.until(lambda: held(world, WEB) == "GroupHeld", 900)
        assert (place(world, WEB), held(world, "db-statefulset")) == (home, "VolumesStay")
        assert "StatefulSet db cannot move" in said(world, WEB)

    play(story, THREE)


def test_answers_show_the_group() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1",)))
        state = await picture(world)
        asked = asked_of("deploy/web", "default")
        explained = explain_in(await read_asked(world.client, world.clock, asked, ""), asked)
        assert isinstance(explained, Explanation)
        assert "The application moves together with Deployment db (member1) (group shop)." in explained.why
        told = what_if(state, ImaginedChange(fails=frozenset({home})))
        web = next(each for each in told.applications if each.workload == "Deployment default/web")
        assert (web.fate, web.reason) == (Fate.HELD, "GroupHeld")
        assert web.group == ("The application moves together with Deployment db (member1) (group shop).",)
        await annotate(world, "db", None)
        await world.sleep(5)
        told = what_if(await picture(world), ImaginedChange(fails=frozenset({home})))
        assert {each.workload: each.fate for each in told.applications}["Deployment default/web"] is Fate.MOVES

    play(story, THREE)


def test_a_recorded_decision_holds_the_group() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1",)))
        await world.member(home).stop()
        await world.until(lambda: held(world, WEB) == "GroupHeld", 900)
        told = replay(*decode_recorded(record_of(await picture(world), asked_of("deploy/web", "default"))))
        assert (told.now.held, told.is_same) == ("GroupHeld", True)
        assert any("Deployment db cannot move" in sentence for sentence in told.why)

    play(story, THREE)


def test_two_groups_cross_and_each_stays_together() -> None:
    async def story(world: World) -> None:
        first = member_of("shop", "web", ("member1", "member3")), member_of("shop", "db", ("member1", "member3"))
        other = member_of("blog", "wiki", ("member2", "member3")), member_of("blog", "pages", ("member2", "member3"))
        assert await running(world, *first) == "member1"
        assert await running(world, *other) == "member2"
        await world.member("member1").stop()
        await world.until(lambda: place(world, WEB) == "member3", 900)
        await never_parted(world, 60)
        await never_parted(world, 10, "wiki-deployment", "pages-deployment")
        assert together(world, "wiki-deployment", "pages-deployment") == "member2"

    play(story, THREE)


def test_who_was_apart_before_the_annotation_is_moved_by_nothing() -> None:
    async def story(world: World) -> None:
        await running(world, member_of(None, "web", ("member1", "member3")))
        await running(world, member_of(None, "db", ("member2", "member3")))
        await annotate(world, "web", "shop")
        await annotate(world, "db", "shop")
        await world.sleep(600)
        assert (place(world, WEB), place(world, DB)) == ("member1", "member2")
        assert (tasks(world, WEB), tasks(world, DB)) == ([], [])
        assert said(world, WEB) == "group shop is parted: Deployment db is in member2"
        assert said(world, DB) == "group shop is parted: Deployment web is in member1"
        await annotate(world, "db", None)
        await world.until(lambda: not held(world, WEB) + held(world, DB), 90)

    play(story, THREE)


def test_a_person_who_moves_one_member_moves_its_group_and_nothing_stops_serving() -> None:
    async def story(world: World) -> None:
        home = await running(world)
        narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}
        await world.client.patch(POLICIES, "web", narrower, "default")
        await world.until(lambda: place(world, WEB) == "member3", 10)
        for _ in range(60):
            await world.sleep(1)
            assert together(world) == "member3"
            for name in ("web", "db"):
                assert max(await ready_replicas(world, home, name), await ready_replicas(world, "member3", name)) == 2
        assert await serve(world, "member3")
        assert [await ready_replicas(world, home, name) for name in ("web", "db")] == [-1, -1]
        assert (tasks(world, WEB), tasks(world, DB)) == ([], [])

    play(story, THREE)


@pytest.mark.parametrize("seconds", [0.2, 3, 30])
def test_a_person_who_takes_the_move_of_a_group_back_stops_nothing(seconds: float) -> None:
    async def story(world: World) -> None:
        home = await running(world)
        for names in (["member3"], [home]):
            narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": names}}}}
            await world.client.patch(POLICIES, "web", narrower, "default")
            await world.sleep(seconds)
        for _ in range(90):
            for name in ("web", "db"):
                assert max([await ready_replicas(world, each, name) for each in (home, "member3")]) == 2
            await world.sleep(1)
        assert (together(world), tasks(world, WEB), tasks(world, DB)) == (home, [], [])

    play(story, THREE)


@pytest.mark.parametrize("purged", ["web", "db"])
def test_a_person_who_moves_one_member_has_nobody_deleted_for_it(purged: str) -> None:
    async def story(world: World) -> None:
        members = [member_of("shop", name, **(PURGED if name == purged else {})) for name in ("web", "db")]
        home = await running(world, *members)
        narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}
        await world.client.patch(POLICIES, "web", narrower, "default")
        await world.until(lambda: held(world, WEB) == "GroupHeld", 60)
        await never_parted(world, 120)
        assert (together(world), await serve(world, home)) == (home, True)
        assert "would be deleted before it serves there" in said(world, WEB)

    play(story, THREE)


def test_a_group_comes_back_to_a_member_that_was_never_purged() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web", **PURGED), member_of("shop", "db"))
        await world.member(home).stop()
        await world.until(lambda: together(world) not in ("", home), 900)
        away = together(world)
        await world.sleep(60)
        await world.member(home).start()
        await world.until(lambda: place(world, WEB) == home, 300)
        for _ in range(120):
            await world.sleep(1)
            assert max(await ready_replicas(world, home, "db"), await ready_replicas(world, away, "db")) == 2
            assert await ready_replicas(world, home, "web") == 2
        assert (together(world), tasks(world, WEB), tasks(world, DB)) == (home, [], [])

    play(story, THREE)


def test_a_deleted_member_holds_nobody() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1",)))
        await world.client.delete(DEPLOYMENTS, "db", "default")
        await world.sleep(30)
        await world.member(home).stop()
        await world.until(lambda: place(world, WEB) != home, 900)

    play(story, THREE)


def test_a_group_that_is_held_takes_the_sizes_of_its_templates() -> None:
    """Nobody leaves the drained cluster; more replicas are asked for meanwhile, as an autoscaler does."""

    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1",)))
        await start_drain(world.client, home, 5)
        await world.until(lambda: held(world, WEB) == "GroupHeld", 120)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, "default")
        await world.sleep(120)
        assert (held(world, WEB), await ready_replicas(world, home, "web")) == ("GroupHeld", 4)

    play(story, THREE)


@pytest.mark.parametrize("of_db", [("member1", "member3"), tuple(THREE)])
def test_a_member_that_was_never_with_the_others_holds_and_parts_nobody_in_a_dead_cluster(
    of_db: tuple[str, ...],
) -> None:
    """A template that joins the group in the outage has a place where not all of the others may go."""

    async def story(world: World) -> None:
        assert (
            await running(world, member_of("shop", "web", ("member1", "member3")), member_of("shop", "db", of_db))
            == "member1"
        )
        await world.member("member1").stop()
        await world.sleep(120)
        await apply(world.client, deployment("cache", 2), member_of("shop", "cache", ("member2",)))
        await world.until(lambda: place(world, WEB) == "member3", 900)
        assert "member2" not in {place(world, DB), *tasks(world, DB)}
        await never_parted(world, 120)
        assert await serve(world, "member3")

    play(story, THREE)


def test_s21_who_is_asked_to_go_where_another_is_parts_from_nobody_unheard() -> None:
    async def story(world: World) -> None:
        home = await running(world, member_of("shop", "web"), member_of("shop", "db", ("member1", "member2")))
        await running(world, member_of(None, "cache", ("member3",)))
        await annotate(world, "cache", "shop")
        narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}
        await world.client.patch(POLICIES, "web", narrower, "default")
        await world.until(lambda: held(world, WEB) == "GroupHeld", 60)
        await never_parted(world, 120)
        assert together(world) == home
        assert "Deployment db cannot move to member3" in said(world, WEB)
        await annotate(world, "db", None)
        await world.until(lambda: place(world, WEB) == "member3", 120)

    play(story, THREE)


@pytest.mark.parametrize("group", [None, "shop"])
def test_what_is_foreseen_for_a_group_takes_no_room_of_others(group: str | None) -> None:
    async def story(world: World, _: WorldEstimator) -> None:
        by_room = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
        for name in ("web", "db"):
            wanted = member_of(group, name, ("member1", "member2"))
            wanted["spec"]["placement"]["replicaScheduling"] = by_room
            await apply(world.client, asking(name, 3), wanted)
        await world.until(lambda: together(world) == "member1", 60)
        await world.sleep(60)
        await world.member("member1").stop()
        await world.sleep(150)
        other = {"clusterAffinity": {"clusterNames": ["member2"]}, "replicaScheduling": by_room}
        await apply(world.client, asking("other", 6), policy("other", other))
        await world.sleep(30)
        assert (together(world), world.assigned("other-deployment")) == ("member1", {"member2": 6})

    nodes = {name: WorkloadSettings(nodes=2, node_cpu=cpu) for name, cpu in zip(THREE, ("8", "4", "1"), strict=True)}
    sums = switch_gates([("CustomizedClusterResourceModeling", False)])
    play_with_estimators(story, nodes, lambda _: ManagerSettings(gates=sums))
