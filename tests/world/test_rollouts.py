"""Staged propagation on the virtual clock: which cluster gets a change, and when; what stops it, and what goes on."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from msgspec import structs

from kubeapi.meta import Manifest
from leeward.answers.explanation import Explanation
from leeward.answers.imagined import ImaginedChange
from leeward.answers.reading import read_outages
from leeward.answers.rendered_copies import render_copies
from leeward.answers.rendering_inputs import Given, read_application
from leeward.answers.subjects import asked_of, explain_in
from leeward.answers.timeline import OutageFilter, timeline
from leeward.answers.what_if import what_if
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    work_name,
)
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.api.rollout import (
    REVISION_ANNOTATION,
    ROLLOUT_ANNOTATION,
    ROLLOUT_CONDITION,
    ROLLOUT_REVISIONS_ANNOTATION,
    ROLLOUT_STATE_ANNOTATION,
    ROLLOUT_UNDONE_ANNOTATION,
)
from leeward.cli.explain_text import explanation_lines
from leeward.cli.render import document_of
from leeward.cli.what_if_text import what_if_lines
from leeward.client import NotFound, Unreachable
from leeward.core.rollout.revision import pack, revision_of
from leeward.core.rollout.state import RolloutState, render_state, short, state_of
from leeward.operations import OperationFailed
from leeward.operations.rollout import pause_rollout, read_rollout, resume_rollout, undo_rollout
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, play, policy, ready_replicas
from tests.world.test_overrides import OVERRIDES, overriding
from tests.world.test_restarts import restart
from tests.world.test_restored import restore
from tests.world.test_shards import TWO, Processes

MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB = "web-deployment"
PLACES = [("default", WEB)]
WORK = work_name("Deployment", "web", "default")
STAGES = """
stages:
- name: canary
  clusters: [member1]
  healthyFor: 5m
- name: rest
  healthyFor: 2m
progressDeadline: 10m
"""
OLD, GOOD, BAD, MENDED = "nginx:1", "nginx:2", "nginx:broken", "nginx:3"


def staged(placement: Manifest, stages: str = STAGES) -> Manifest:
    found = policy("web", placement)
    found["metadata"]["annotations"] = {ROLLOUT_ANNOTATION: stages}
    return found


async def web_runs(world: World, stages: str = STAGES, weights: Mapping[str, int] | None = None, each: int = 2) -> None:
    """The application runs in its clusters, and its first revision is proven."""
    weights = weights or dict.fromkeys(MEMBERS, 1)
    await apply(world.client, deployment("web", each * len(weights), "nginx:1"), staged(by_weight(weights), stages))
    await world.until(lambda: reason(world) == "Complete", 60)
    await world.sleep(60)
    assert await images(world) == dict.fromkeys(weights, "nginx:1")


async def begun(world: World, image: str, stages: str = STAGES, each: int = 2) -> None:
    """A change of the application has been in the first stage for a minute."""
    await web_runs(world, stages, each=each)
    await change(world, image)
    await world.sleep(60)
    assert await images(world) == {"member1": image, "member2": OLD, "member3": OLD}


async def two_of_three(world: World) -> tuple[str, str, str]:
    """The application runs in two clusters, of which the first is the canary; and the spare one."""
    await apply(world.client, deployment("web", 2, OLD), staged(TWO_OF_THREE, ANY_CANARY))
    await world.until(lambda: reason(world) == "Complete", 60)
    await world.sleep(60)
    first, second = sorted(world.assigned(WEB))
    (spare,) = MEMBERS.keys() - {first, second}
    return first, second, spare


def rollout(world: World) -> Condition | None:
    found = world.binding(WEB)
    return find_condition(found.status.conditions, ROLLOUT_CONDITION) if found is not None else None


def reason(world: World) -> str:
    found = rollout(world)
    return found.reason if found is not None else ""


def remembered(world: World) -> RolloutState:
    found = world.binding(WEB)
    assert found is not None
    state = state_of(found, world.clock.now())
    assert state is not None
    return state


async def images(world: World) -> dict[str, str]:
    """Images by member."""
    found: dict[str, str] = {}
    for member in world.members:
        try:
            manifest = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
        except (NotFound, Unreachable):
            continue
        found[member] = manifest["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


async def change(world: World, image: str, **spec: Any) -> None:
    container = {"name": "main", "image": image}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}, **spec}}
    await world.client.patch(DEPLOYMENTS, "web", patch, "default")


async def serving(world: World) -> dict[str, int]:
    return {name: await ready_replicas(world, name, "web") for name in world.members}


async def ask(world: World, **annotations: str | None) -> None:
    await world.client.patch(RESOURCE_BINDINGS, WEB, {"metadata": {"annotations": annotations}}, "default")


def told(story: Callable[[World], Awaitable[None]], members: Mapping[str, Mode] = MEMBERS) -> None:
    play(story, members)


def test_a_good_change_goes_from_stage_to_stage() -> None:
    async def story(world: World) -> None:
        await begun(world, GOOD)
        assert reason(world) == "Progressing"
        await world.sleep(200)
        assert await images(world) == {"member1": GOOD, "member2": "nginx:1", "member3": "nginx:1"}
        await world.sleep(100)
        assert await images(world) == {"member1": GOOD, "member2": GOOD, "member3": "nginx:1"}
        await world.until(lambda: reason(world) == "Complete", 600)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)

    told(story)


@pytest.mark.parametrize("each", [1, 2, 5])
def test_a_bad_change_stops_in_the_first_stage_and_the_others_serve(each: int) -> None:
    """A Deployment of one replica is healthy all the time: the old one serves as long as the new one does not."""

    async def story(world: World) -> None:
        await begun(world, BAD, each=each)
        await world.sleep(240)
        assert reason(world) == "Progressing"
        await world.until(lambda: reason(world) == "Failed", 600)
        await world.sleep(1_200)
        assert await images(world) == {"member1": BAD, "member2": "nginx:1", "member3": "nginx:1"}
        assert {name: n for name, n in (await serving(world)).items() if name != "member1"} == {
            "member2": each,
            "member3": each,
        }
        condition = rollout(world)
        assert condition is not None
        assert "does not serve in member1" in condition.message
        assert "leeward rollout undo" in condition.message
        await change(world, MENDED)
        await world.until(lambda: reason(world) == "Complete", 1_800)
        assert await images(world) == dict.fromkeys(MEMBERS, MENDED)

    told(story)


ROLLING_BACK = STAGES + "onFailure: Rollback\n"


def test_a_failed_change_goes_back_where_the_policy_asks_for_it() -> None:
    async def story(world: World) -> None:
        await web_runs(world, ROLLING_BACK)
        await change(world, BAD)
        await world.until(lambda: reason(world) == "RolledBack", 900)
        await world.sleep(600)
        assert await images(world) == dict.fromkeys(MEMBERS, OLD)
        assert await serving(world) == dict.fromkeys(MEMBERS, 2)
        assert reason(world) == "RolledBack"
        assert "failed again" in await resume_rollout(world.client, PLACES, world.clock.now())
        await world.sleep(30)
        assert await images(world) == {"member1": BAD, "member2": OLD, "member3": OLD}
        await change(world, MENDED)
        await world.until(lambda: reason(world) == "Complete", 1_800)
        assert await images(world) == dict.fromkeys(MEMBERS, MENDED)

    told(story)


TWO_OF_THREE: Manifest = {
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
ANY_CANARY = STAGES.replace("clusters: [member1]", "share: 1%")


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
            f"its rollout of revision {short(state.target)}: {found.message}",
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

    told(story)


def test_a_scale_out_waits_for_no_rollout() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await change(world, BAD)
        await world.sleep(120)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 12}}, "default")
        await world.sleep(120)
        assert await images(world) == {"member1": BAD, "member2": OLD, "member3": OLD}
        assert {name: n for name, n in (await serving(world)).items() if name != "member1"} == {
            "member2": 4,
            "member3": 4,
        }

    told(story)


def test_a_paused_rollout_goes_on_when_it_is_resumed() -> None:
    async def story(world: World) -> None:
        await begun(world, GOOD)
        assert "is paused: each cluster keeps" in await pause_rollout(world.client, PLACES, world.clock.now())
        assert "is paused already" in await pause_rollout(world.client, PLACES, world.clock.now())
        await world.sleep(1_800)
        assert await images(world) == {"member1": GOOD, "member2": OLD, "member3": OLD}
        assert reason(world) == "Paused"
        assert (await resume_rollout(world.client, PLACES, world.clock.now())).endswith("goes on")
        await world.until(lambda: reason(world) == "Complete", 900)
        assert await images(world) == dict.fromkeys(MEMBERS, GOOD)

    told(story)


def test_a_stage_with_a_pause_waits_for_a_person() -> None:
    async def story(world: World) -> None:
        await web_runs(world, STAGES.replace("healthyFor: 5m", "healthyFor: 5m\n  pause: true"))
        await change(world, GOOD)
        await world.until(lambda: reason(world) == "WaitingForApproval", 600)
        await world.sleep(1_800)
        assert await images(world) == {"member1": GOOD, "member2": OLD, "member3": OLD}
        told = await explained(world)
        assert told.rollout is not None
        effect = f"revision {told.rollout.target} leaves stage canary"
        assert [(each.change, each.effect) for each in told.helps] == [("`leeward rollout resume`", effect)]
        assert told.rollout.clusters[1].sentence.endswith("its stage comes after canary")
        assert [each.sentence for each in told.next] == [f"the rollout waits for a person: then {effect}"]
        said = await resume_rollout(world.client, PLACES, world.clock.now())
        assert said == "the rollout of web-deployment leaves stage canary"
        await world.until(lambda: reason(world) == "Complete", 900)

    told(story)


def test_a_change_passes_two_stages_that_wait_for_a_person() -> None:
    async def story(world: World) -> None:
        two = "- name: second\n  clusters: [member2]\n  healthyFor: 2m\n  pause: true\n- name: rest"
        await web_runs(
            world, STAGES.replace("healthyFor: 5m", "healthyFor: 5m\n  pause: true").replace("- name: rest", two)
        )
        await change(world, GOOD)
        for stage in ("canary", "second"):
            await world.until(lambda: reason(world) == "WaitingForApproval", 900)
            said = await resume_rollout(world.client, PLACES, world.clock.now())
            assert said == f"the rollout of web-deployment leaves stage {stage}"
            await world.until(lambda: reason(world) == "Progressing", 60)
        await world.until(lambda: reason(world) == "Complete", 900)

    told(story)


def test_an_undone_change_is_taken_back_everywhere() -> None:
    async def story(world: World) -> None:
        await begun(world, GOOD)
        await world.until(lambda: reason(world) == "Complete", 1_800)
        await undo_rollout(world.client, PLACES, world.clock.now())
        await world.sleep(60)
        assert await images(world) == dict.fromkeys(MEMBERS, OLD)
        assert reason(world) == "Undone"
        read = await read_rollout(world.client, PLACES, world.clock.now())
        assert set(read.revisions.values()) == {read.state.previous}
        await change(world, MENDED)
        await world.sleep(60)
        assert await images(world) == {"member1": MENDED, "member2": OLD, "member3": OLD}

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


REPLACED = [{"component": "Tag", "operator": "replace", "value": "1"}]


def test_a_change_of_an_override_goes_from_stage_to_stage() -> None:
    async def story(world: World) -> None:
        mine = overriding("tag", {"name": "web"}, imageOverrider=REPLACED)
        await world.client.create(OVERRIDES, mine, "default")
        await web_runs(world)
        found = overriding("tag", {"name": "web"}, imageOverrider=[{**REPLACED[0], "value": "2"}])
        await world.client.patch(OVERRIDES, "tag", {"spec": found["spec"]}, "default")
        await world.sleep(60)
        assert await images(world) == {"member1": "nginx:2", "member2": OLD, "member3": OLD}
        await world.client.delete(OVERRIDES, "tag", "default")
        await world.sleep(60)
        assert await images(world) == dict.fromkeys(MEMBERS, OLD)

    told(story)


def test_a_newer_change_takes_the_place_of_the_one_before() -> None:
    async def story(world: World) -> None:
        await begun(world, BAD)
        await change(world, GOOD)
        await world.sleep(60)
        assert await images(world) == {"member1": GOOD, "member2": OLD, "member3": OLD}
        await world.until(lambda: reason(world) == "Complete", 1_800)
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


def test_an_application_without_stages_has_no_rollout_to_ask_about() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 3), policy("web", by_weight(dict.fromkeys(MEMBERS, 1))))
        await world.sleep(30)
        with pytest.raises(OperationFailed, match="asks for no stages"):
            await read_rollout(world.client, PLACES, world.clock.now())
        with pytest.raises(OperationFailed, match="there is no such binding"):
            await undo_rollout(world.client, [("default", "other")], world.clock.now())

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


async def explained(world: World) -> Explanation:
    answer = explain_in(await picture(world), asked_of("deploy/web", "default"))
    assert isinstance(answer, Explanation)
    return answer


def test_explain_says_why_a_cluster_keeps_the_old_revision_and_the_next_command() -> None:
    """Answers at each turn of a bad change: who serves, who waits and why, and the command of a person."""

    async def story(world: World) -> None:
        await web_runs(world)
        assert (await explained(world)).rollout is None
        await change(world, BAD)
        await world.sleep(60)
        told = await explained(world)
        assert told.rollout is not None
        assert told.rollout.stage == "canary"
        old, new = told.rollout.proven, told.rollout.target
        assert [(row.cluster, row.stage, row.revision) for row in told.rollout.clusters] == [
            ("member1", "canary", new),
            ("member2", "rest", old),
            ("member3", "rest", old),
        ]
        assert f"has the new revision {new}, and does not serve with it since" in told.rollout.clusters[0].sentence
        assert told.rollout.clusters[1].sentence == f"keeps the proven revision {old}: its stage comes after canary"
        assert any(f"revision {new} has failed" in step.sentence and step.at for step in told.next)
        assert (told.needs_somebody, told.helps) == (False, ())
        await world.until(lambda: reason(world) == "Failed", 900)
        await world.sleep(60)
        told = await explained(world)
        assert told.needs_somebody
        assert "is stopped in its rollout (Failed): " in told.headline
        assert [each.command for each in told.helps] == ["leeward rollout undo deployment/web -n default"]
        assert any("is stopped in its rollout (Failed)" in each for each in await findings(world))
        lines = "\n".join(explanation_lines(told))
        assert "keeps the proven revision" in lines
        assert "leeward rollout undo deployment/web -n default" in lines
        await undo_rollout(world.client, PLACES, world.clock.now())
        await world.sleep(60)
        told = await explained(world)
        assert (told.needs_somebody, reason(world)) == (False, "Undone")
        assert told.rollout is not None
        assert [each.sentence for each in told.rollout.clusters] == [f"has revision {old}"] * 3
        kept = await read_outages(world.client, world.clock)
        (turns,) = timeline(kept, OutageFilter(application="deploy/web")).rollouts
        assert [(each.reason, each.stage) for each in turns.steps] == [
            ("Progressing", "canary"),
            ("Failed", ""),
            ("Undone", ""),
        ]
        assert "is Undone" in turns.headline
        assert timeline(kept, OutageFilter()).rollouts == [turns]

    play(story, MEMBERS)


def test_render_shows_what_each_cluster_has_now_and_what_it_would_get() -> None:
    async def story(world: World) -> None:
        await begun(world, GOOD)
        asked = asked_of("deploy/web", "default")
        copies = render_copies(await read_application(world.client, Given(), asked))
        proven = short(remembered(world).proven)
        assert {each.cluster: each.keeps for each in copies} == {"member1": "", "member2": proven, "member3": proven}
        shown = document_of(copies[1])
        now, then = shown.split("---\n")
        assert now.startswith(f"# member2 now, revision {proven}\n")
        assert then.startswith("# member2 when the rollout reaches it\n")
        assert (OLD in now, GOOD in then, OLD in then) == (True, True, False)
        assert "now, revision" not in document_of(copies[0])
        await world.until(lambda: reason(world) == "Complete", 900)
        copies = render_copies(await read_application(world.client, Given(), asked))
        assert [each.keeps for each in copies] == ["", "", ""]

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


async def findings(world: World) -> list[str]:
    return [each.sentence for each in (await look_at_fleet(world.client, world.clock)).findings]
