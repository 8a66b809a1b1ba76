"""Staged propagation on the virtual clock: which cluster gets a change, when, and who is told."""

import pytest

from leeward.answers.outage_report import report
from leeward.answers.reading import read_outages
from leeward.answers.rendered_copies import render_copies
from leeward.answers.rendering_inputs import Given, read_application
from leeward.answers.subjects import asked_of
from leeward.answers.timeline import OutageFilter, timeline
from leeward.cli.explain_text import explanation_lines
from leeward.cli.render import document_of
from leeward.core.rollout.state import short
from leeward.operations import OperationFailed
from leeward.operations.rollout import pause_rollout, read_rollout, resume_rollout, undo_rollout
from leeward.operations.sentences import full_moment
from leeward.sim.world import World
from tests.world.staging import (
    BAD,
    GOOD,
    MEMBERS,
    MENDED,
    OLD,
    PLACES,
    ROLLING_BACK,
    STAGES,
    begun,
    change,
    explained,
    findings,
    images,
    reason,
    remembered,
    rollout,
    serving,
    told,
    web_runs,
)
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, policy
from tests.world.test_overrides import CLUSTER_OVERRIDES, OVERRIDES, overriding


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
        assert [each.sentence for each in told.next] == [f"the rollout waits for a person; then {effect}"]
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


EDGE = {"labelSelector": {"matchLabels": {"tier": "edge"}}}


async def with_tier(world: World) -> None:
    """A ClusterOverridePolicy gives the application a label in each cluster."""
    labels = [{"operator": "add", "value": {"tier": "edge"}}]
    await world.client.create(CLUSTER_OVERRIDES, overriding("tier", {"name": "web"}, labelsOverrider=labels))


def test_a_change_of_an_override_waits_where_another_override_changes_labels() -> None:
    async def story(world: World) -> None:
        await with_tier(world)
        mine = overriding("tag", {"name": "web"}, imageOverrider=REPLACED)
        await world.client.create(OVERRIDES, mine, "default")
        await web_runs(world)
        found = overriding("tag", {"name": "web"}, imageOverrider=[{**REPLACED[0], "value": "2"}])
        await world.client.patch(OVERRIDES, "tag", {"spec": found["spec"]}, "default")
        await world.sleep(60)
        assert await images(world) == {"member1": "nginx:2", "member2": OLD, "member3": OLD}
        await world.until(lambda: reason(world) == "Complete", 1_800)
        assert await images(world) == dict.fromkeys(MEMBERS, "nginx:2")

    told(story)


def test_an_override_that_selects_by_overridden_labels_is_no_part_of_a_revision() -> None:
    """All revisions have it, also those of before; neither it nor one of another application begins a rollout."""

    async def story(world: World) -> None:
        await with_tier(world)
        await begun(world, GOOD)
        revision = remembered(world).target
        registry = [{"component": "Registry", "operator": "add", "value": "registry.example"}]
        for name, selector in (("mine", EDGE), ("others", {"labelSelector": {"matchLabels": {"app": "other"}}})):
            await world.client.create(OVERRIDES, overriding(name, selector, imageOverrider=registry), "default")
        await world.sleep(60)
        assert await images(world) == {
            "member1": f"registry.example/{GOOD}",
            "member2": f"registry.example/{OLD}",
            "member3": f"registry.example/{OLD}",
        }
        assert remembered(world).target == revision

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


def test_an_application_without_stages_has_no_rollout_to_ask_about() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 3), policy("web", by_weight(dict.fromkeys(MEMBERS, 1))))
        await world.sleep(30)
        with pytest.raises(OperationFailed, match="asks for no stages"):
            await read_rollout(world.client, PLACES, world.clock.now())
        with pytest.raises(OperationFailed, match="there is no such binding"):
            await undo_rollout(world.client, [("default", "other")], world.clock.now())

    told(story)


@in_world(MEMBERS)
async def test_explain_says_why_a_cluster_keeps_the_old_revision_and_the_next_command(world: World) -> None:
    """Answers at each turn of a bad change: who serves, who waits and why, and the command of a person."""
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
    assert any(f"unless revision {new} serves in" in step.sentence and step.at for step in told.next)
    assert (told.needs_somebody, told.helps) == (False, ())
    await world.until(lambda: reason(world) == "Failed", 900)
    await world.sleep(60)
    told = await explained(world)
    assert told.needs_somebody
    assert "is stopped in its rollout (Failed): " in told.headline
    assert [each.command for each in told.helps] == ["leeward rollout undo deployment/web -n default"]
    assert any("is stopped in its rollout (Failed" in each for each in await findings(world))
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
    written = report(timeline(kept, OutageFilter(application="deploy/web"))).split("\n")
    assert f"## Rollout of {turns.application}" in written
    turn = [line for line in written if line.startswith(f"| {full_moment(turns.steps[0].at)} | canary | {new} |")]
    assert [line.split(" | ")[3] for line in turn] == ["Progressing"]


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
