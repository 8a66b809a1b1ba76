"""Failback between terms of `clusterAffinities`: from the backup back to the primary, in small steps, and once."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import (
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    HOME_ANNOTATION,
)
from leeward.api.resource import RESOURCE_BINDINGS, WORKLOAD_REBALANCERS
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.sampler import Samples, running, sampled
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    held,
    in_world,
    policy,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_explain import explain
from tests.world.test_overrides import OVERRIDES, only, overriding, tagged

FOUR: Mapping[str, Mode] = {"member1": "Push", "member2": "Pull", "member3": "Push", "member4": "Pull"}
WEB = "web-deployment"
DIVISIONS: Mapping[str, Manifest] = {
    "static": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
    "dynamic": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
    "aggregated": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    "duplicated": {"replicaSchedulingType": "Duplicated"},
}
PAIR = (("member1",), ("member3",))
PAIRS = (("member1", "member2"), ("member3", "member4"))
THREE_TERMS = (("member1",), ("member2",), ("member3",))
WAITED = 600
"""Seconds for which a primary is to be healthy."""


def terms(groups: Sequence[Sequence[str]], how: str = "static", **more: Any) -> Manifest:
    named = [{"affinityName": f"t{n}", "clusterNames": list(names)} for n, names in enumerate(groups)]
    return {"clusterAffinities": named, "replicaScheduling": DIVISIONS[how], **more}


def returning(placement: Manifest, **annotations: str) -> Manifest:
    """The policy of `web` that asks for failback."""
    wanted = policy("web", placement)
    wanted["metadata"]["annotations"] = {FAILBACK_ANNOTATION: "Automatic", **annotations}
    return wanted


def term(world: World) -> str:
    binding = world.binding(WEB)
    return binding.status.scheduler_observing_affinity_name if binding is not None else ""


def has_home(world: World) -> bool:
    binding = world.binding(WEB)
    return binding is not None and HOME_ANNOTATION in binding.metadata.annotations


async def fled(world: World, wanted: Manifest, *lost: str, replicas: int = 4) -> dict[str, int]:
    """The application has fled from these clusters to the next term, and serves there. Returns where it was."""
    await apply(world.client, deployment("web", replicas), wanted)
    await world.until(lambda: bool(world.assigned(WEB)), 60)
    await world.sleep(60)
    before = world.assigned(WEB)
    assert term(world) == "t0"
    for name in lost:
        await world.member(name).stop()
    await world.until(lambda: term(world) != "t0")
    await world.sleep(120)
    return before


async def back(world: World, *names: str) -> None:
    """The clusters are back, and healthy."""
    for name in names:
        await world.member(name).start()
    await world.until(lambda: all(world.is_ready(name) for name in names), 120)


def is_home(world: World, before: Mapping[str, int]) -> bool:
    return world.assigned(WEB) == before and term(world) == "t0" and not tasks(world, WEB) and not has_home(world)


def steps(samples: Samples, *home: str) -> list[int]:
    """Replicas that were assigned to the primary, one after the other."""
    return [sum(move.get(name, 0) for name in home) for move in samples.moves]


@pytest.mark.parametrize("how", mostly_long(["static", "dynamic", "aggregated"], "static"))
@pytest.mark.parametrize("groups", mostly_long([PAIR, PAIRS], PAIR), ids=["one and one", "two and two"])
@in_world(FOUR)
async def test_s1_divided_replicas_return_to_the_earlier_term_in_small_steps(
    world: World, how: str, groups: Sequence[Any]
) -> None:
    home = groups[0]
    before = await fled(world, returning(terms(groups, how)), *home)
    away = world.assigned(WEB)
    await back(world, *home)
    async with sampled(world) as samples:
        await world.sleep(WAITED - 10)
        assert world.assigned(WEB) == away, "it has not been healthy for long enough"
        await world.until(lambda: is_home(world, before), 300)
        await world.sleep(60)
    assert samples.fewest == 4
    assert steps(samples, *home) == [0, 1, 2, 3, 4]
    assert await running(world, "web") == before
    there = {name: len(uids) for name, uids in samples.uids.items() if name in before}
    assert all(times <= 2 for times in there.values()), "each was made once, or twice with what was left"


@pytest.mark.parametrize("groups", mostly_long([PAIR, PAIRS], PAIRS), ids=["one and one", "two and two"])
@in_world(FOUR)
async def test_s1_copies_return_all_together_and_those_of_the_later_term_serve_until_these_are_healthy(
    world: World,
    groups: Sequence[Any],
) -> None:
    before = await fled(world, returning(terms(groups, "duplicated")), *groups[0], replicas=2)
    serving = 2 * len(groups[0])
    await back(world, *groups[0])
    async with sampled(world) as samples:
        await world.until(lambda: term(world) == "t0", 700)
        assert tasks(world, WEB) == list(groups[1])
        await world.until(lambda: is_home(world, before), 120)
        await world.sleep(60)
    assert samples.fewest == serving
    assert len(samples.moves) == 2
    assert await running(world, "web") == before


@pytest.mark.long
@in_world(FOUR)
async def test_explain_says_where_it_returns_to_while_it_waits(world: World) -> None:
    await fled(world, returning(terms(PAIR)), "member1")
    told = (await explain(world)).headline
    assert told.endswith("it returns to affinity term t0 when clusters there stay healthy and have free capacity")


@pytest.mark.long
@in_world(FOUR)
async def test_by_default_nothing_returns_to_an_earlier_term(world: World) -> None:
    await fled(world, policy("web", terms(PAIR)), "member1")
    assert not has_home(world)
    await back(world, "member1")
    await world.sleep(3_600)
    assert world.assigned(WEB) == {"member3": 4}
    assert term(world) == "t1"


@pytest.mark.long
@in_world(FOUR)
async def test_an_application_that_was_made_in_the_backup_while_its_primary_was_dead_goes_to_the_primary(
    world: World,
) -> None:
    await world.member("member1").stop()
    await world.until(lambda: bool(world.taints("member1")))
    await world.sleep(400)
    await apply(world.client, deployment("web", 4), returning(terms(PAIR)))
    await world.until(lambda: world.assigned(WEB) == {"member3": 4}, 60)
    await world.sleep(30)
    await back(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: is_home(world, {"member1": 4}), 1_200)
    assert samples.fewest == 4


@pytest.mark.long
@pytest.mark.parametrize("how", ["static", "duplicated"])
@in_world(FOUR)
async def test_c1_a_primary_that_dies_again_and_again_moves_the_application_a_bounded_number_of_times(
    world: World, how: str
) -> None:
    before = await fled(world, returning(terms(PAIR, how), **{FAILBACK_AFTER_ANNOTATION: "1m"}), "member1")
    async with sampled(world) as samples:
        for _ in range(8):
            await world.member("member1").start()
            await world.sleep(300)
            await world.member("member1").stop()
            await world.sleep(720)
    assert len(samples.moves) <= 12
    assert world.assigned(WEB) == {"member3": 4}
    await back(world, "member1")
    await world.until(lambda: is_home(world, before), 30_000)


@pytest.mark.long
@pytest.mark.parametrize("how", ["static", "duplicated"])
@in_world(FOUR)
async def test_s1_a_primary_that_dies_in_the_middle_of_a_return_costs_no_more_than_what_it_served(
    world: World, how: str
) -> None:
    before = await fled(world, returning(terms(PAIR, how), **{FAILBACK_PACE_ANNOTATION: "1"}), "member1")
    await back(world, "member1")
    await world.until(lambda: "member1" in world.assigned(WEB), 700)
    async with sampled(world) as samples:
        await world.member("member1").stop()
        await world.until(lambda: world.assigned(WEB) == {"member3": 4} and not tasks(world, WEB))
        await world.sleep(30)
        assert term(world) == "t1"
        assert await running(world, "web") == {"member3": 4}
    assert samples.fewest >= (3 if how == "static" else 4)
    assert has_home(world), "it is tried again"
    await back(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: is_home(world, before), 6_000)
    assert samples.fewest == 4


@pytest.mark.long
@pytest.mark.parametrize("how", ["static", "duplicated"])
@in_world(FOUR)
async def test_l2_a_backup_that_dies_in_the_middle_of_a_return_leaves_all_to_the_primary(
    world: World, how: str
) -> None:
    before = await fled(world, returning(terms(PAIR, how)), "member1")
    await back(world, "member1")
    await world.until(lambda: world.assigned(WEB).get("member1", 0) >= 2, 900)
    await world.member("member3").stop()
    await world.until(lambda: world.assigned(WEB) == before, 900)
    await world.sleep(120)
    assert await running(world, "web") == before
    assert term(world) == "t0"
    await world.member("member3").start()
    await world.sleep(900)
    assert await running(world, "web") == before
    assert is_home(world, before)


@pytest.mark.long
@pytest.mark.parametrize("how", ["static", "aggregated", "duplicated"])
@in_world(FOUR)
async def test_s1_nothing_returns_before_the_primary_has_room_for_all(world: World, how: str) -> None:
    before = await fled(world, returning(terms(PAIR, how)), "member1")
    await back(world, "member1")
    await without_room(world, "member1")
    async with sampled(world) as samples:
        await world.sleep(2_400)
    assert samples.moves == [{"member3": 4}]
    await with_room(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: is_home(world, before), 900)
    assert samples.fewest == 4


async def never_pulled(world: World, *members: str) -> None:
    """Copies that are made in these members from now on never run."""
    for name in members:
        rules = overriding(f"broken-{name}", {"name": "web"}, only(name), imageOverrider=tagged("broken"))
        await world.client.create(OVERRIDES, rules, "default")


@pytest.mark.parametrize("how", mostly_long(["static", "duplicated"], "static"))
@in_world(FOUR)
async def test_s1_a_return_that_never_becomes_healthy_is_taken_back_and_not_repeated(world: World, how: str) -> None:
    await fled(world, returning(terms(PAIR, how)), "member1")
    await never_pulled(world, "member1")
    await back(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: "member1" in world.assigned(WEB), 700)
        await world.until(lambda: world.assigned(WEB) == {"member3": 4} and not tasks(world, WEB), 900)
        await world.sleep(7_200)
    assert samples.fewest == 4
    assert len(samples.moves) == 3
    assert term(world) == "t1"
    assert await running(world, "web") == {"member3": 4}


@pytest.mark.long
@in_world(FOUR)
async def test_s1_a_return_that_fails_half_way_is_taken_back_whole(world: World) -> None:
    await fled(world, returning(terms(PAIR)), "member1")
    await back(world, "member1")
    await world.until(lambda: world.assigned(WEB).get("member1") == 2 and not tasks(world, WEB), 900)
    await without_room(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: world.assigned(WEB) == {"member3": 4} and not tasks(world, WEB), 3_000)
        assert term(world) == "t1"
        await world.sleep(3_600)
    assert samples.fewest == 4
    assert world.assigned(WEB) == {"member3": 4}
    assert await running(world, "web") == {"member3": 4}


@pytest.mark.long
@in_world(FOUR)
async def test_it_returns_to_the_first_of_several_earlier_terms_that_fits_and_then_to_its_own(world: World) -> None:
    wanted = returning(terms(THREE_TERMS))
    before = await fled(world, wanted, "member1")
    assert world.assigned(WEB) == {"member2": 4}
    await world.member("member2").stop()
    await world.until(lambda: world.assigned(WEB) == {"member3": 4} and term(world) == "t2")
    await world.sleep(60)
    await back(world, "member2")
    async with sampled(world) as samples:
        await world.until(lambda: world.assigned(WEB) == {"member2": 4} and term(world) == "t1", 1_200)
        assert has_home(world)
        await world.sleep(600)
        await back(world, "member1")
        await world.until(lambda: is_home(world, before), 1_200)
    assert samples.fewest == 4
    assert all("member1" not in move or "member3" not in move for move in samples.moves)


@pytest.mark.long
@in_world(FOUR)
async def test_it_skips_an_earlier_term_that_does_not_fit(world: World) -> None:
    before = await fled(world, returning(terms(THREE_TERMS)), "member1", "member2")
    assert world.assigned(WEB) == {"member3": 4}
    await back(world, "member1", "member2")
    async with sampled(world) as samples:
        await world.until(lambda: is_home(world, before), 1_200)
    assert all("member2" not in move for move in samples.moves), "the first one fits"


@pytest.mark.long
@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.parametrize("division", ["static", "duplicated"])
@in_world(FOUR)
async def test_l6_a_restart_in_the_middle_of_a_return_changes_nothing(world: World, how: str, division: str) -> None:
    before = await fled(world, returning(terms(PAIR, division)), "member1")
    await back(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: "member1" in world.assigned(WEB), 700)
        for _ in range(4):
            if how == "killed":
                world.crash_controllers()
            else:
                await world.stop_controllers()
            await world.sleep(3)
            world.start_controllers()
            await world.sleep(7)
        await world.until(lambda: is_home(world, before), 600)
        await world.sleep(60)
    assert samples.fewest == 4
    assert len(samples.moves) <= 5
    assert await running(world, "web") == before


@pytest.mark.long
@pytest.mark.parametrize(("replicas", "least"), [(6, 4), (3, 3), (1, 1)])
@in_world(FOUR)
async def test_s3_scaling_in_the_middle_of_a_return_keeps_what_serves_and_goes_on(
    world: World, replicas: int, least: int
) -> None:
    await fled(world, returning(terms(PAIR)), "member1")
    await back(world, "member1")
    await world.until(lambda: world.assigned(WEB).get("member1") == 2, 900)
    async with sampled(world) as samples:
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")
        await world.until(lambda: is_home(world, {"member1": replicas}), 1_200)
        await world.sleep(60)
    assert samples.fewest >= least
    assert await running(world, "web") == {"member1": replicas}


@pytest.mark.long
@in_world(FOUR)
async def test_another_placement_in_the_middle_of_a_return_is_not_fought(world: World) -> None:
    await fled(world, returning(terms(PAIR)), "member1")
    await back(world, "member1")
    await world.until(lambda: world.assigned(WEB).get("member1") == 2, 900)
    patch = {"spec": {"placement": terms((("member4",), ("member1",)))}}
    await world.client.patch(POLICIES, "web", patch, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 4}, 60)
    await world.sleep(3_600)
    assert world.assigned(WEB) == {"member1": 4}, "its own term has other clusters by now"
    assert await running(world, "web") == {"member1": 4}
    assert not has_home(world)


@pytest.mark.long
@in_world(FOUR)
async def test_who_rebalances_in_the_backup_is_not_fought(world: World) -> None:
    await fled(world, returning(terms(PAIR)), "member1")
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
    spec = {"workloads": [workload]}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "stay"}, "spec": spec})
    await world.sleep(30)
    assert not has_home(world)
    await back(world, "member1")
    await world.sleep(3_600)
    assert world.assigned(WEB) == {"member3": 4}


@pytest.mark.long
@in_world(FOUR)
async def test_s9_nothing_returns_while_scheduling_is_suspended(world: World) -> None:
    before = await fled(world, returning(terms(PAIR)), "member1")
    suspended = {"spec": {"suspension": {"scheduling": True}}}
    await world.client.patch(RESOURCE_BINDINGS, WEB, suspended, "default")
    await back(world, "member1")
    await world.sleep(1_800)
    assert world.assigned(WEB) == {"member3": 4}
    await world.client.patch(RESOURCE_BINDINGS, WEB, {"spec": {"suspension": None}}, "default")
    await world.until(lambda: is_home(world, before), 600)


@pytest.mark.long
@in_world(FOUR)
async def test_a_limit_of_one_cluster_has_all_replicas_return_in_one_step(world: World) -> None:
    one = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
    before = await fled(world, returning(terms(PAIR, "aggregated", spreadConstraints=one)), "member1")
    await back(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: is_home(world, before), 900)
    assert samples.fewest == 4
    assert len(samples.moves) == 2
    assert held(world, WEB) == ""
