"""Staged propagation while clusters, controllers and the control plane fail: a rollout stops, and goes on."""

import pytest
from msgspec import structs

from kubeapi.meta import Manifest
from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import what_if
from leeward.api.outage import OutagePhase
from leeward.api.resource import CLUSTERS
from leeward.api.rollout import (
    REVISION_ANNOTATION,
    ROLLOUT_ANNOTATION,
    ROLLOUT_REVISIONS_ANNOTATION,
    ROLLOUT_STATE_ANNOTATION,
    ROLLOUT_UNDONE_ANNOTATION,
)
from leeward.cli.what_if_text import what_if_lines
from leeward.core.rollout.revision import pack, revision_of
from leeward.core.rollout.state import render_state, short
from leeward.operations.rollout import resume_rollout, undo_rollout
from leeward.sim.world import World
from tests.world.pictures import picture
from tests.world.staging import (
    ANY_CANARY,
    BAD,
    GOOD,
    MEMBERS,
    MENDED,
    OLD,
    PLACES,
    STAGES,
    TWO_OF_THREE,
    WEB,
    WORK,
    ask,
    begun,
    change,
    explained,
    images,
    reason,
    remembered,
    rollout,
    serving,
    staged,
    told,
    two_of_three,
    web_runs,
)
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, policy, ready_replicas
from tests.world.test_outage_objects import counts, only_outage, returned
from tests.world.test_restarts import restart
from tests.world.test_restored import restore
from tests.world.test_shards import TWO, Processes


def test_an_outage_in_the_middle_stops_the_change_and_fails_over_to_what_is_proven() -> None:
    """The replacement serves with the proven revision before it gets the change."""

    async def story(world: World) -> None:
        first, second, spare = await two_of_three(world)
        await change(world, GOOD)
        await world.sleep(60)
        assert await images(world) == {first: GOOD, second: OLD}
        foretold = what_if(await picture(world), ImaginedChange(fails=frozenset({second})))
        await world.member(second).stop()
        await world.until(lambda: reason(world) == "ClusterOutage", 600)
        found = rollout(world)
        assert found is not None
        assert f"{second} cannot be seen" in found.message
        state = remembered(world)
        assert foretold.applications[0].rollout == (
            f"the rollout of revision {short(state.target)} waits. {found.message}",
            f"the replacement in {spare} starts with revision {short(state.proven)}, which has served everywhere",
        )
        assert found.message[:-1] in " ".join(" ".join(what_if_lines(foretold)).split())
        await world.until(lambda: spare in world.assigned(WEB), 1_200)
        began_with = set[str | None]()
        while await ready_replicas(world, spare, "web") <= 0:
            began_with.add((await images(world)).get(spare))
            await world.sleep(0.5)
        assert began_with - {None} == {OLD}
        await world.until(lambda: reason(world) == "Complete", 1_200)
        found_images = await images(world)
        assert (found_images[first], found_images[spare]) == (GOOD, GOOD)

    told(story)


def test_a_canary_that_fails_over_before_it_is_done_proves_nothing() -> None:
    async def story(world: World) -> None:
        stages = ANY_CANARY.replace("share: 1%", "clusters: [CANARY]\n  pause: true")
        await apply(world.client, deployment("web", 2, OLD), policy("web", TWO_OF_THREE))
        await world.sleep(60)
        first, second = sorted(world.assigned(WEB))
        (spare,) = MEMBERS.keys() - {first, second}
        mark = {"metadata": {"annotations": {ROLLOUT_ANNOTATION: stages.replace("CANARY", first)}}}
        await world.client.patch(POLICIES, "web", mark, "default")
        await world.until(lambda: reason(world) == "Complete", 60)
        await change(world, BAD)
        await world.sleep(60)
        assert await images(world) == {first: BAD, second: OLD}
        await world.member(first).stop()
        await world.until(lambda: spare in world.assigned(WEB), 1_200)
        await world.until(lambda: first not in world.assigned(WEB), 1_200)
        await world.sleep(1_200)
        assert await images(world) == {second: OLD, spare: OLD}
        found = rollout(world)
        assert found is not None
        assert (found.reason, "leeward rollout resume" in found.message) == ("WaitingForApproval", True)
        told = await explained(world)
        assert told.rollout is not None
        effect = f"revision {told.rollout.target} goes on without having been proven in stage canary"
        assert [(each.change, each.effect) for each in told.helps] == [("`leeward rollout resume`", effect)]
        said = await resume_rollout(world.client, PLACES, world.clock.now())
        assert said == "the rollout of web-deployment leaves stage canary"
        await world.sleep(60)
        assert BAD in (await images(world)).values()

    told(story)


def test_a_replacement_in_an_untried_cluster_gets_the_proven_revision() -> None:
    async def story(world: World) -> None:
        first, second, spare = await two_of_three(world)
        await change(world, BAD)
        await world.sleep(60)
        assert await images(world) == {first: BAD, second: OLD}
        await world.member(second).stop()
        await world.until(lambda: spare in world.assigned(WEB), 900)
        await world.sleep(120)
        assert (await images(world))[spare] == OLD
        assert await ready_replicas(world, spare, "web") == 2
        await world.sleep(1_200)
        assert (await images(world))[spare] == OLD
        assert reason(world) == "Failed"
        await returned(world, second)
        await world.sleep(60)
        outage = await only_outage(world, second)
        assert (outage.status.phase, counts(outage)) == (OutagePhase.OVER, {"Moved": 1}), "a canary is not its concern"

    told(story)


@pytest.mark.parametrize("at", [30, 200, 330])
def test_a_restart_of_the_controllers_loses_nothing_of_a_rollout(at: int) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await change(world, GOOD)
        await world.sleep(at)
        before = await images(world)
        await restart(world, away_seconds=20)
        await world.sleep(5)
        assert await images(world) == before
        began = world.seconds
        await world.until(lambda: reason(world) == "Complete", 900)
        assert world.seconds - began <= 700
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)

    told(story)


def test_a_cluster_that_joins_or_leaves_breaks_no_rollout() -> None:
    every: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}

    async def story(world: World) -> None:
        await world.client.delete(CLUSTERS, "member4")
        await world.sleep(60)
        await apply(world.client, deployment("web", 2, OLD), staged(every))
        await world.until(lambda: reason(world) == "Complete", 60)
        await world.sleep(60)
        await change(world, GOOD)
        await world.sleep(60)
        await world.client.delete(CLUSTERS, "member2")
        await world.register(world.member("member4"), world.client)
        await world.until(lambda: "member4" in world.assigned(WEB), 600)
        await world.sleep(30)
        assert (await images(world))["member4"] == OLD
        await world.until(lambda: reason(world) == "Complete", 1_800)
        found = await images(world)
        assert sorted(world.assigned(WEB)) == ["member1", "member3", "member4"]
        assert {found[name] for name in world.assigned(WEB)} == {GOOD}

    told(story, {**MEMBERS, "member4": "Push"})


def test_a_strategy_that_came_just_before_a_bad_change_holds_it() -> None:
    """No revision is known then: each cluster keeps what its Work has, and scales all the same."""

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 6, OLD), policy("web", by_weight(dict.fromkeys(MEMBERS, 1))))
        await world.sleep(60)
        await world.stop_controllers()
        await ask(world, **{ROLLOUT_ANNOTATION: STAGES})
        marks = {"metadata": {"annotations": {ROLLOUT_ANNOTATION: STAGES}}}
        await world.client.patch(POLICIES, "web", marks, "default")
        await change(world, BAD, replicas=9)
        world.start_controllers()
        await world.sleep(300)
        assert await images(world) == {"member1": BAD, "member2": OLD, "member3": OLD}
        found = await serving(world)
        assert (found["member2"], found["member3"]) == (3, 3)
        await world.until(lambda: reason(world) == "Failed", 900)
        await change(world, OLD)
        await world.sleep(60)
        assert await images(world) == dict.fromkeys(MEMBERS, OLD)

    told(story)


def test_a_strategy_that_is_taken_away_lets_the_change_go_everywhere() -> None:
    async def story(world: World) -> None:
        await begun(world, GOOD)
        marks = {"metadata": {"annotations": {ROLLOUT_ANNOTATION: None}}}
        await world.client.patch(POLICIES, "web", marks, "default")
        await world.sleep(60)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)
        assert rollout(world) is None
        binding, work = world.binding(WEB), world.work("member1", WORK)
        assert binding is not None
        assert work is not None
        assert not any("rollout" in name for name in binding.metadata.annotations)
        assert REVISION_ANNOTATION not in work.metadata.annotations

    told(story)


def test_s6_what_a_user_writes_into_a_binding_reaches_no_cluster() -> None:
    async def story(world: World) -> None:
        await begun(world, BAD)
        bare = deployment("web", 0, "evil:1")
        bare["metadata"]["namespace"] = "default"
        forged = revision_of(bare, bare, ())
        state = structs.replace(remembered(world), proven=forged.id)
        text = pack([forged])
        await ask(world, **{ROLLOUT_STATE_ANNOTATION: render_state(state), ROLLOUT_REVISIONS_ANNOTATION: text})
        await world.sleep(60)
        await ask(world, **{ROLLOUT_UNDONE_ANNOTATION: state.target})
        await world.sleep(600)
        assert "evil:1" not in (await images(world)).values()

    told(story)


def test_a_backup_from_the_middle_of_a_rollout_goes_on_with_it() -> None:
    """The control plane is restored as it was when the first stage had the change; the second has got it since."""

    async def story(world: World) -> None:
        await web_runs(world)
        await change(world, GOOD)
        await world.sleep(120)
        kept = await world.medium.load()
        await world.until(lambda: reason(world) == "Complete", 900)
        await restore(world, kept, controllers_stay=False)
        await world.sleep(60)
        assert (await images(world))["member1"] == GOOD
        await world.until(lambda: reason(world) == "Complete", 1_800)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)
        assert await serving(world) == dict.fromkeys(MEMBERS, 2)

    told(story)


@pytest.mark.parametrize("at", [60, 305, 330])
@pytest.mark.parametrize("who", ["leader", "shards"])
def test_a_hand_over_between_processes_begins_no_stage_too_early(who: str, at: int) -> None:
    """The process that has the binding is stopped in the first stage, at its end, or in the second."""

    async def story(world: World) -> None:
        processes = Processes(world)
        await processes.start()
        others = [processes.candidate("second", TWO), *(processes.shard(n, f"next {n}") for n in range(2))]
        await web_runs(world)
        await change(world, GOOD)
        changed = world.seconds
        await world.sleep(at)
        before = await images(world)
        for process in (processes.leader,) if who == "leader" else processes.shards:
            await process.stop()
        for process in others[:1] if who == "leader" else others[1:]:
            process.start()
        while reason(world) != "Complete":
            assert world.seconds - changed < 900, "the rollout goes on"
            found = await images(world)
            assert all(found[name] == GOOD for name in MEMBERS if before[name] == GOOD), "no cluster goes back"
            assert found["member2"] == OLD or world.seconds - changed >= 300, "the canary serves for its time"
            assert found["member3"] == OLD or world.seconds - changed >= 420, "and then the next one"
            await world.sleep(5)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)

    told(story)


def test_a_second_change_serves_for_its_whole_time_like_the_first() -> None:
    """A cluster that has been healthy for an hour with the revision before has proven nothing of the next one."""

    async def story(world: World) -> None:
        await begun(world, GOOD)
        await world.until(lambda: reason(world) == "Complete", 900)
        await world.sleep(3_600)
        await change(world, MENDED)
        await world.sleep(290)
        assert await images(world) == {"member1": MENDED, "member2": GOOD, "member3": GOOD}
        await world.sleep(60)
        assert (await images(world))["member2"] == MENDED

    told(story)


def test_a_change_of_a_label_alone_goes_from_stage_to_stage() -> None:
    """No Pod is replaced, and so no status changes that could be waited for."""

    async def label(world: World, member: str) -> str | None:
        manifest = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
        return manifest["metadata"]["labels"].get("team")

    async def story(world: World) -> None:
        await web_runs(world)
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"team": "blue"}}}, "default")
        await world.sleep(120)
        assert [await label(world, name) for name in MEMBERS] == ["blue", None, None]
        await world.until(lambda: reason(world) == "Complete", 900)
        assert [await label(world, name) for name in MEMBERS] == ["blue"] * 3

    told(story)


def test_a_stage_that_no_cluster_belongs_to_asks_nobody() -> None:
    """A pause of a stage without clusters would wait for a person who has nothing to look at."""

    async def story(world: World) -> None:
        empty = "- name: nobody\n  clusterSelector: {matchLabels: {tier: nobody}}\n  pause: true\n- name: rest"
        await web_runs(world, STAGES.replace("- name: rest", empty))
        await change(world, GOOD)
        await world.sleep(60)
        await world.until(lambda: reason(world) == "Complete", 1_200)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)

    told(story)


def test_clusters_that_no_stage_takes_come_behind_all_others() -> None:
    async def story(world: World) -> None:
        stages = STAGES.replace("- name: rest", "- name: second\n  clusters: [member3]")
        await web_runs(world, stages)
        await change(world, GOOD)
        await world.until(lambda: world.work("member3", WORK) is not None and reason(world) == "Progressing", 60)
        await world.sleep(400)
        assert await images(world) == {"member1": GOOD, "member2": OLD, "member3": GOOD}
        await world.until(lambda: reason(world) == "Complete", 600)

    told(story)


def test_an_allowance_lets_a_change_go_on_while_a_cluster_is_away() -> None:
    """The cluster that is away holds up nobody but itself, and gets the change when it is back."""
    every: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}

    async def story(world: World) -> None:
        stages = STAGES.replace("healthyFor: 2m", "healthyFor: 2m\n  maxUnavailable: 2")
        await apply(world.client, deployment("web", 2, OLD), staged(every, stages))
        await world.until(lambda: reason(world) == "Complete", 60)
        await world.sleep(60)
        await change(world, GOOD)
        await world.sleep(60)
        await world.member("member2").stop()
        await world.sleep(900)
        assert (await images(world))["member3"] == GOOD
        found = rollout(world)
        assert found is not None
        assert (found.reason, "member2 cannot be seen" in found.message) == ("ClusterOutage", True)
        await world.member("member2").start()
        await world.until(lambda: reason(world) == "Complete", 1_800)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)

    told(story)


def test_a_change_that_comes_while_nobody_looks_is_the_one_that_is_taken_back() -> None:
    """A person who sees a bad change says undo, and the clusters keep the revision that runs, not the one before."""

    async def story(world: World) -> None:
        await begun(world, GOOD)
        await world.until(lambda: reason(world) == "Complete", 900)
        await world.stop_controllers()
        await change(world, BAD)
        world.start_controllers()
        await world.until(lambda: reason(world) == "ClusterOutage", 60)
        await undo_rollout(world.client, PLACES, world.clock.now())
        await world.sleep(600)
        assert reason(world) == "Undone"
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)
        await change(world, MENDED)
        await world.sleep(60)
        assert await images(world) == {"member1": MENDED, "member2": GOOD, "member3": GOOD}

    told(story)
