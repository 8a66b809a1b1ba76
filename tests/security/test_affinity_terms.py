"""Affinity terms: how many of them a tenant may write, and what one decision about them costs.

    has            the right to write PropagationPolicies or ResourceBindings in one namespace
    does           writes placements of thousands of affinity terms, none of which fits
    must not get   a decision whose cost grows by the square of their number, or another application that is not moved

Holds: L2, L4.
"""

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any
from unittest import mock

import pytest

from controller_runtime import Key
from kubeapi.codec import encode
from kubeapi.loop.turns import Turns
from kubeapi.meta import LabelSelector, LabelSelectorRequirement, Manifest
from kubeapi.resource import Resource
from kubeclient import Invalid
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.policy import ClusterAffinity, ClusterAffinityTerm, Placement
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.rules import bounds
from leeward.api.rules.bounds import MOST_AFFINITIES, MOST_PLACEMENT_BYTES
from leeward.api.work import ResourceBindingStatus
from leeward.controllers.scheduler import concerned
from leeward.controllers.scheduler.bindings import BindingKey
from leeward.controllers.scheduler.concerned import ConcernedBindings
from leeward.controllers.scheduler.scheduling_cycle import SchedulingCycle
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement.concern import ClusterConcern, may_mean
from leeward.core.scheduling import Unplaceable, model, pipeline, schedule
from leeward.planning.feasibility import CachedFeasibility
from leeward.planning.fleet import Fleet, look_at_terms
from leeward.sim.world import World
from tests.builders import binding, cluster
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import POLICIES, apply, deployment, held, play, policy, tasks
from tests.world.test_restored import ONE_COPY, PUSHED, WEB, moved
from tests.world.test_unwatched_time import PUSH, is_left, web_runs

BINDING_MANIFESTS = Resource.of_manifests("work.karmada.io/v1alpha2", "resourcebindings", "ResourceBinding", True)


def terms(count: int, size: int = 1) -> Manifest:
    """A placement of terms that name clusters that are not there."""
    names = ["nowhere"] if size == 1 else [f"nowhere-{number:0240}" for number in range(size)]
    return {"clusterAffinities": [{"affinityName": f"t{number}", "clusterNames": names} for number in range(count)]}


async def write_binding(world: World, name: str, placement: Manifest) -> None:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name}
    made = {"metadata": {"name": f"{name}-configmap"}, "spec": {"resource": resource, "placement": placement}}
    await world.client.create(BINDING_MANIFESTS, made, "default")


HUGE = [
    (terms(4_000), "spec.placement.clusterAffinities: Too many: 4000"),
    (terms(15_000), "spec.placement.clusterAffinities: Too many: 15000"),
    (terms(60, 20), "spec.placement: Too long"),
]


@pytest.mark.parametrize(("placement", "told"), HUGE)
def test_l4_a_placement_that_is_too_much_is_refused_with_the_way_out(placement: Manifest, told: str) -> None:
    async def story(world: World) -> None:
        writes = (
            partial(apply, world.client, policy("p", placement)),
            partial(write_binding, world, "huge", placement),
        )
        for write in writes:
            with pytest.raises(Invalid, match=told) as refused:
                await write()
            assert "by label" in str(refused.value)
        await apply(world.client, policy("p", terms(MOST_AFFINITIES)))
        await write_binding(world, "large", terms(MOST_AFFINITIES))
        with pytest.raises(Invalid):
            await world.client.patch(POLICIES, "p", {"spec": {"placement": placement}}, "default")

    play(story, {"member1": "Push"})


def test_l4_overflow_affinities_count_too() -> None:
    async def story(world: World) -> None:
        overflow = [{"affinityName": f"o{number}", "clusterNames": ["x"]} for number in range(MOST_AFFINITIES)]
        one = {"affinityName": "t", "clusterNames": ["y"], "overflowAffinities": overflow}
        with pytest.raises(Invalid, match="Too many: 101"):
            await write_binding(world, "huge", {"clusterAffinities": [one]})

    play(story, {"member1": "Push"})


@pytest.mark.parametrize("placement", [terms(15_000), terms(60, 20)])
def test_l2_l4_what_is_stored_beyond_the_bounds_is_not_scheduled_and_says_so(placement: Manifest) -> None:
    """The webhook was not asked. No term is tried, another application is moved, and what is stored can be deleted."""
    tried = 0
    place = pipeline.place

    def counted(request: Any, view: Any) -> Any:
        nonlocal tried
        tried += "nowhere" in str(request.term)[:200]
        return place(request, view)

    async def story(world: World) -> None:
        await web_runs(world)
        await write_binding(world, "huge", placement)
        await world.sleep(30)
        found = await world.client.get(RESOURCE_BINDINGS, "huge-configmap", "default")
        scheduled = find_condition(found.status.conditions, "Scheduled")
        assert scheduled is not None
        assert scheduled.status == "False"
        assert "Too " in scheduled.message
        await world.member("member1").stop()
        await world.until(lambda: is_left(world), 1200)
        assert tried == 0
        await world.client.delete(RESOURCE_BINDINGS, "huge-configmap", "default")
        await world.sleep(30)
        assert world.binding("huge-configmap") is None

    with mock.patch.object(pipeline, "place", counted):
        play_in(UnaskedWorld, story, PUSH)


def test_s11_what_was_stored_before_the_bounds_still_fails_over_as_far_as_nothing_is_placed() -> None:
    """The control plane gets its bounds in the middle of a failover: that ends. The next one is held, and says why."""

    async def story(world: World) -> None:
        stored = {**ONE_COPY, **terms(150)}
        for term in stored["clusterAffinities"]:
            term["clusterNames"] = list(PUSHED)
        with mock.patch.object(bounds, "MOST_AFFINITIES", 1_000):
            await apply(world.client, deployment("web", 3), policy("web", stored))
            await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
            await world.sleep(60)
            (old,) = world.assigned(WEB)
            new = await moved(world, old)
            await world.stop_controllers()
        assert tasks(world, WEB) == [old]
        world.start_controllers()
        await world.until(lambda: not tasks(world, WEB), 300)
        assert list(world.assigned(WEB)) == [new]
        await world.member(new).stop()
        await world.until(lambda: held(world, WEB) == HeldReason.NO_PLACE_TO_GO, 1_200)
        found = world.binding(WEB)
        assert found is not None
        for name in ("Scheduled", EVICTION_HELD_CONDITION):
            told = find_condition(found.status.conditions, name)
            assert told is not None
            assert "Too many: 150" in told.message
        assert list(world.assigned(WEB)) == [new]

    play_in(UnaskedWorld, story, PUSHED)


def test_l4_a_decision_reads_each_term_once() -> None:
    """Each term and what they share is turned into bytes once: not the whole placement for each of them."""
    many = tuple(
        ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=tuple(f"x{n}-{m}" for m in range(50)))
        for n in range(MOST_AFFINITIES)
    )
    placement = Placement(cluster_affinities=many)
    assert len(encode(placement)) < MOST_PLACEMENT_BYTES
    spec, written = binding(replicas=2, placement=placement).spec, 0

    def counted(value: Any) -> bytes:
        nonlocal written
        body = encode(value)
        written += len(body)
        return body

    with mock.patch.object(model, "encode", counted):
        outcome = schedule(spec, ResourceBindingStatus(), Fleet([cluster("m1"), cluster("m2")]).view())
    assert isinstance(outcome, Unplaceable)
    assert 0 < written <= 2 * len(encode(placement))


def test_l4_a_term_in_view_is_another_question_than_its_neighbour() -> None:
    """An answer that is remembered of one term is not taken for another, nor for one of another placement."""
    fleet = Fleet([cluster("m1"), cluster("m2")])
    placed = {}
    for names in (("m1", "m2"), ("m2", "m1"), ("m1",)):
        many = tuple(ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=(name,)) for n, name in enumerate(names))
        outcome = schedule(
            binding(replicas=2, placement=Placement(cluster_affinities=many)).spec,
            ResourceBindingStatus(),
            fleet.view(),
        )
        placed[names] = [target.name for target in outcome.clusters] if not isinstance(outcome, Unplaceable) else []
    assert placed == {("m1", "m2"): ["m1"], ("m2", "m1"): ["m2"], ("m1",): ["m1"]}


def many_terms() -> Placement:
    """A placement as large as its bounds let it be."""
    terms = tuple(
        ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=tuple(f"nowhere{n}-{m}" for m in range(160)))
        for n in range(MOST_AFFINITIES)
    )
    placement = Placement(cluster_affinities=terms)
    assert 0.8 * MOST_PLACEMENT_BYTES < len(encode(placement)) < MOST_PLACEMENT_BYTES
    return placement


def calls_of(work: Callable[[], object]) -> int:
    """Number of functions that are called: it says how long something takes, on whatever machine."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


MOST_CALLS = 400_000
"""Calls of functions in a quarter of a second, about; a decision without turns makes more."""


@pytest.mark.long
def test_l4_no_piece_of_the_largest_decision_is_long() -> None:
    """Three hundred clusters, and as many terms as may be, of which none fits: turns in between, then the decision."""
    fleet = Fleet([cluster(f"m{number}") for number in range(300)])
    spec = binding(replicas=2, placement=many_terms()).spec
    pieces = look_at_terms(spec, fleet)
    sizes = [calls_of(lambda: next(pieces)) for _ in range(MOST_AFFINITIES)]
    assert next(pieces, None) is None
    decision = calls_of(lambda: schedule(spec, ResourceBindingStatus(), fleet.view()))
    again = calls_of(lambda: schedule(spec, ResourceBindingStatus(), fleet.view()))
    cold = Fleet([cluster(f"m{number}") for number in range(300)])
    whole = calls_of(lambda: schedule(spec, ResourceBindingStatus(), cold.view()))
    assert max(*sizes, decision) < MOST_CALLS < whole
    assert again < MOST_CALLS / 10


@pytest.mark.long
def test_l4_no_piece_of_the_search_for_those_that_may_mean_a_cluster_is_long() -> None:
    """Four hundred applications, each with as many terms as may be, of which none means the cluster that changed."""
    found, changed = ConcernedBindings(), cluster("m1")
    for number in range(400):
        key = BindingKey("resourcebindings", Key("default", f"app{number}"))
        found.put(key, ClusterConcern(frozenset({"m2"}), affinities=many_selectors(number)))
    assert calls_of(lambda: found.of(changed, changed)) < MOST_CALLS / 1_000
    search = found.meaning([changed, changed])
    sizes = [calls_of(lambda: next(search)) for _ in range(800)]
    assert next(search, None) is None
    assert max(sizes) < MOST_CALLS / 10 < MOST_CALLS < sum(sizes)


def many_selectors(number: int) -> tuple[ClusterAffinity, ...]:
    expressions = [LabelSelectorRequirement(f"k{number}-{n}", "NotIn", ("a",)) for n in range(20)]
    return tuple(
        ClusterAffinity(label_selector=LabelSelector(match_expressions=(*expressions, exists(f"z{n}"))))
        for n in range(MOST_AFFINITIES)
    )


def exists(key: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key, "Exists")


def test_l4_a_turn_comes_before_each_placement_that_a_changed_cluster_is_looked_for_in() -> None:
    asked, since_turn = 0, 0
    take = Turns.take

    async def taken(turns: Turns, *, late: bool = False) -> None:
        nonlocal since_turn
        await take(turns, late=late)
        since_turn = 0

    def counted(*known: Any) -> bool:
        nonlocal asked, since_turn
        asked, since_turn = asked + 1, since_turn + 1
        assert since_turn <= 1
        return may_mean(*known)

    async def story(world: World) -> None:
        for number in range(20):
            term = {"affinityName": "near", "clusterNames": ["member1", f"nowhere{number}"]}
            await apply(
                world.client, deployment(f"app{number}", 2), policy(f"app{number}", {"clusterAffinities": [term]})
            )
        await world.until(lambda: all(world.assigned(f"app{number}-deployment") for number in range(20)), 120)
        await world.sleep(60)
        await world.member("member2").stop()
        await world.until(lambda: not world.is_ready("member2"), 300)
        await world.sleep(60)

    with mock.patch.object(concerned, "may_mean", counted), mock.patch.object(Turns, "take", taken):
        play(story, PUSH)
    assert asked >= 20


def test_l4_the_scheduler_takes_turns_before_it_decides_about_many_terms() -> None:
    """No term is first looked at within a decision; a placement that fails everywhere is left in peace."""
    decides, inside, decided, together = SchedulingCycle._decide, False, 0, 0  # pyright: ignore[reportPrivateUsage]
    looked = list[bool]()
    make = CachedFeasibility.__init__

    def deciding(cycle: Any, keys: Any) -> Any:
        nonlocal inside, decided, together
        huge = sum("huge" in str(key) for key in keys)
        inside, decided, together = True, decided + bool(huge), max(together, huge)
        try:
            return decides(cycle, keys)
        finally:
            inside = False

    def looking(cached: Any, request: Any, *arguments: Any) -> None:
        if request.affinity_name:
            looked.append(inside)
        make(cached, request, *arguments)

    async def story(world: World) -> None:
        await asyncio.gather(*(write_binding(world, f"huge{n}", terms(MOST_AFFINITIES)) for n in range(20)))
        await world.sleep(60)
        assert looked.count(False) >= MOST_AFFINITIES
        assert True not in looked
        assert together == 1, "a batch of such decisions would be as long as all of them"
        before = decided
        await world.sleep(600)
        assert decided - before <= 5 * 20, "it is tried again with the patience of all that fail"

    with (
        mock.patch.object(SchedulingCycle, "_decide", deciding),
        mock.patch.object(CachedFeasibility, "__init__", looking),
    ):
        play(story, PUSH)
