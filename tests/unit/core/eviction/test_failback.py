"""The way home: where it leads, when a step is taken, and how large it is."""

import json
from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest

from kubeapi.core import Taint, Toleration
from leeward.api.cluster import Cluster
from leeward.api.failback import FailbackOptions
from leeward.api.names import FAILBACK_ANNOTATION, FAILBACK_PACE_ANNOTATION, FLAPPING_ANNOTATION, HOME_ANNOTATION
from leeward.api.policy import ClusterAffinityTerm, Placement, SpreadConstraint
from leeward.api.work import GracefulEvictionTask, ResourceBinding, TargetCluster, TargetComponent, Work
from leeward.core.cluster_health.watched_time import ALWAYS
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.failback import Failback, decide_failback, step_between_terms
from leeward.core.eviction.original_placement import (
    OriginalPlacement,
    failback_options,
    first_missed,
    forgotten,
    given_up,
    goal_of,
    original_placement_patch,
    parse_original_placement,
    remembered_placement,
)
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, table, targets, works
from tests.rooms import AGGREGATED, DYNAMIC, roomy, spread

SHARES = divided({"a": 1, "b": 1, "c": 1})
A, B, C = cluster("a"), cluster("b"), cluster("c")
OPTIONS = FailbackOptions(automatic=True, after_seconds=600, step=25, is_share=True)
NOT_READY = Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(0))


def annotated(bound: ResourceBinding, **annotations: str) -> ResourceBinding:
    merged = {**bound.metadata.annotations, **annotations}
    return msgspec.structs.replace(bound, metadata=msgspec.structs.replace(bound.metadata, annotations=merged))


def changed(bound: ResourceBinding, **spec: object) -> ResourceBinding:
    return msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, **spec))


def deleted(there: Cluster) -> Cluster:
    return msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, deletion_timestamp=at(0)))


# home

LEFT = binding(SHARES, 4, targets(a=2, b=2))


def remembered(bound: ResourceBinding = LEFT) -> OriginalPlacement:
    home = remembered_placement(None, bound.spec, (Eviction("a", (NOT_READY,)),), fleet(dead("a"), B), at(7.5))
    assert home is not None
    return home


def test_home_is_where_the_binding_was_when_the_first_copy_left_a_cluster_that_looked_dead() -> None:
    home = remembered()
    assert (home.at, dict(home.clusters)) == (at(7), {"a": 2, "b": 2})


@pytest.mark.parametrize(
    ("evictions", "clusters"),
    [
        ((), (dead("a"), B)),
        ((Eviction("a"),), (dead("a"), B)),
        ((Eviction("a", (NOT_READY,)),), (A, B)),
        ((Eviction("a", (NOT_READY,)),), (B,)),
    ],
    ids=["nothing leaves", "it has failed", "it is drained", "it is not listed"],
)
def test_no_other_way_of_leaving_is_remembered(evictions: tuple[Eviction, ...], clusters: tuple[Cluster, ...]) -> None:
    assert remembered_placement(None, LEFT.spec, evictions, fleet(*clusters), at(7)) is None
    home = remembered()
    assert remembered_placement(home, LEFT.spec, evictions, fleet(*clusters), at(7)) is home


def test_the_first_home_is_kept_though_another_cluster_is_lost() -> None:
    first = remembered()
    later = binding(SHARES, 4, targets(b=4)).spec
    assert remembered_placement(first, later, (Eviction("b", (NOT_READY,)),), fleet(dead("b"), C), at(99)) is first


def test_home_is_kept_in_an_annotation_that_is_written_when_it_changes() -> None:
    home = remembered()
    patch = original_placement_patch(LEFT, home)
    text = patch[HOME_ANNOTATION]
    assert text is not None
    assert json.loads(text) == {
        "placement": home.placement,
        "at": "2026-01-01T00:00:07Z",
        "clusters": {"a": 2, "b": 2},
    }
    assert len(home.placement) == 16
    kept = annotated(LEFT, **{HOME_ANNOTATION: text})
    assert parse_original_placement(kept) == home
    assert original_placement_patch(kept, home) == {}
    assert original_placement_patch(kept, None) == {HOME_ANNOTATION: None}
    assert original_placement_patch(LEFT, None) == {}


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"clusters": targets(b=4)}, True),
        ({"replicas": 9}, True),
        ({"placement": divided({"a": 1, "b": 2})}, False),
        ({"placement": None}, False),
        ({"reschedule_triggered_at": at(6)}, True),
        ({"reschedule_triggered_at": at(7)}, False),
        ({"reschedule_triggered_at": at(8)}, False),
    ],
)
def test_home_is_forgotten_when_the_user_asks_for_another_place(change: dict[str, object], *, kept: bool) -> None:
    text = original_placement_patch(LEFT, remembered())[HOME_ANNOTATION]
    assert text is not None
    bound = changed(annotated(LEFT, **{HOME_ANNOTATION: text}), **change)
    assert (parse_original_placement(bound) is not None) is kept


def test_a_home_that_nobody_can_read_is_none() -> None:
    assert parse_original_placement(annotated(LEFT, **{HOME_ANNOTATION: "{"})) is None
    assert parse_original_placement(LEFT) is None


def test_without_a_placement_home_is_home_as_well() -> None:
    bare = changed(LEFT, placement=None)
    text = original_placement_patch(bare, remembered(bare))[HOME_ANNOTATION]
    assert text is not None
    assert parse_original_placement(annotated(bare, **{HOME_ANNOTATION: text})) == remembered(bare)


def test_options_that_cannot_be_read_ask_for_nothing() -> None:
    wanted = annotated(LEFT, **{FAILBACK_ANNOTATION: "Automatic", FAILBACK_PACE_ANNOTATION: "2"})
    assert failback_options(wanted) == FailbackOptions(True, 600, 2, False)
    assert failback_options(annotated(LEFT, **{FAILBACK_ANNOTATION: "Perhaps"})) == FailbackOptions()
    assert failback_options(LEFT) == FailbackOptions()


HOME = OriginalPlacement("digest", at(0), {"a": 2, "b": 2})


@pytest.mark.parametrize(
    ("replicas", "placement", "clusters", "expected"),
    [
        (4, SHARES, (A, B, C), {"a": 2, "b": 2}),
        (8, SHARES, (A, B, C), {"a": 4, "b": 4}),
        (4, SHARES, (A, C), {"a": 4}),
        (4, SHARES, (A, deleted(B)), {"a": 4}),
        (2, SHARES, (A, C), {"a": 2}),
        (1, SHARES, (A, B), {"b": 1}),
        (3, duplicated("a", "b", "c"), (A, B, C), {"a": 3, "b": 3}),
        (3, duplicated("a", "b", "c"), (A, C), {"a": 3}),
    ],
)
def test_home_grows_and_shrinks_with_what_is_asked_for_and_what_is_joined(
    replicas: int, placement: Placement, clusters: tuple[Cluster, ...], expected: dict[str, int]
) -> None:
    assert dict(goal_of(HOME, binding(placement, replicas).spec, fleet(*clusters))) == expected


def test_what_cannot_be_divided_evenly_at_home_goes_as_the_template_decides() -> None:
    found = set[tuple[tuple[str, int], ...]]()
    for uid in ("u-0", "u-1", "u-2", "u-3"):
        bound = binding(SHARES, 5)
        resource = msgspec.structs.replace(bound.spec.resource, uid=uid)
        found.add(tuple(sorted(goal_of(HOME, changed(bound, resource=resource).spec, fleet(A, B)).items())))
    assert found == {(("a", 3), ("b", 2)), (("a", 2), ("b", 3))}


# failback


def away(placement: Placement, replicas: int, **held: int) -> ResourceBinding:
    return aggregated(binding(placement, replicas, targets(**held)))


def decide(
    bound: ResourceBinding,
    home: Mapping[str, int],
    copies: Mapping[str, Work],
    *clusters: Cluster,
    seconds: float = 600,
    options: FailbackOptions = OPTIONS,
) -> Failback:
    remembered = OriginalPlacement("digest", at(0), home)
    there, now = fleet(*clusters), at(seconds)
    return decide_failback(bound, remembered, there, table(bound, there, copies, now), now, options, ALWAYS)


def task(name: str, replicas: int, seconds: float = 600) -> GracefulEvictionTask:
    return GracefulEvictionTask(
        name, "Failback", "Leeward", "Gracefully", replicas=replicas, creation_timestamp=at(seconds)
    )


FOUR = away(SHARES, 8, b=8)
WELL = works({"b": 8})
TWO_HOMES = {"a": 4, "b": 4}


def test_a_step_moves_a_share_home_and_opens_a_task_for_what_leaves() -> None:
    found = decide(FOUR, TWO_HOMES, WELL, A, B)
    assert found.spec is not None
    assert (found.spec.clusters, found.spec.graceful_eviction_tasks) == (targets(a=2, b=6), (task("b", 2),))
    assert (dict(found.moved), found.wake_at) == ({"a": 2}, None)
    assert found.original is not None
    assert dict(found.original.clusters) == TWO_HOMES


@pytest.mark.parametrize(
    ("options", "held", "expected"),
    [
        (replace(OPTIONS, step=50), {"b": 8}, {"a": 4, "b": 4}),
        (replace(OPTIONS, step=100), {"b": 8}, {"a": 4, "b": 4}),
        (replace(OPTIONS, step=3, is_share=False), {"b": 8}, {"a": 3, "b": 5}),
        (replace(OPTIONS, step=1), {"b": 8}, {"a": 1, "b": 7}),
        (OPTIONS, {"a": 3, "b": 5}, {"a": 4, "b": 4}),
        (OPTIONS, {"b": 5, "c": 3}, {"a": 2, "b": 5, "c": 1}),
        (replace(OPTIONS, step=50), {"b": 4, "c": 4}, {"a": 4, "b": 4}),
        (replace(OPTIONS, step=50), {"b": 6, "c": 2}, {"a": 4, "b": 4}),
    ],
    ids=["half", "all at once", "a number", "at least one", "the rest", "from the greatest", "another goes", "both"],
)
def test_a_step_is_as_large_as_the_pace_and_takes_from_where_the_most_is_too_much(
    options: FailbackOptions, held: dict[str, int], expected: dict[str, int]
) -> None:
    found = decide(away(SHARES, 8, **held), TWO_HOMES, works(held), A, B, C, options=options)
    assert found.spec is not None
    assert {target.name: target.replicas for target in found.spec.clusters} == expected
    assert [target.name for target in found.spec.clusters] == sorted(expected)


def test_at_home_it_is_forgotten() -> None:
    for held in ({"a": 4, "b": 4}, {"a": 5, "b": 4}):
        there = away(SHARES, sum(held.values()), **held)
        assert decide(there, held, works(held), A, B) == Failback(None)


@pytest.mark.parametrize("seconds", [0, 599])
def test_a_cluster_is_trusted_when_it_has_been_well_for_long(seconds: float) -> None:
    found = decide(FOUR, TWO_HOMES, WELL, A, B, seconds=seconds)
    assert (found.spec, found.wake_at) == (None, at(600))
    assert found.original is not None


def flapped(minutes: int) -> Cluster:
    flapping = json.dumps({"score": 1.0, "at": f"2026-01-01T00:{minutes:02}:00Z"})
    return msgspec.structs.replace(
        A, metadata=msgspec.structs.replace(A.metadata, annotations={FLAPPING_ANNOTATION: flapping})
    )


def test_c1_a_cluster_that_was_tainted_is_trusted_from_our_own_clock_on() -> None:
    assert decide(FOUR, TWO_HOMES, WELL, flapped(5), B, seconds=899).wake_at == at(900)
    assert decide(FOUR, TWO_HOMES, WELL, flapped(5), B, seconds=900).spec is not None


def ready_since(seconds: float | None, ready: str = "True") -> Cluster:
    since = None if seconds is None else at(seconds)
    condition = msgspec.structs.replace(cluster("a", ready).status.conditions[0], last_transition_time=since)
    return msgspec.structs.replace(A, status=msgspec.structs.replace(A.status, conditions=(condition,)))


HELD_DOWN = cluster("a", taints=(Taint("leeward.dev/flapping", "NoSchedule", time_added=at(0)),))
TOLERATED = cluster("a", taints=(Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(580)),))
TOLERANT = msgspec.structs.replace(SHARES, cluster_tolerations=(Toleration(operator="Exists"),))
CORDONED = cluster("a", taints=(Taint("example.com/x", "NoSchedule"),))


@pytest.mark.parametrize(
    ("bound", "copies", "clusters"),
    [
        (FOUR, WELL, (dead("a"), B)),
        (FOUR, WELL, (cluster("a", None), B)),
        (FOUR, WELL, (ready_since(None), B)),
        (FOUR, WELL, (ready_since(0, "Unknown"), B)),
        (FOUR, WELL, (HELD_DOWN, B)),
        (away(TOLERANT, 8, b=8), WELL, (HELD_DOWN, B)),
        (FOUR, WELL, (TOLERATED, B)),
        (FOUR, WELL, (CORDONED, B)),
        (FOUR, works({"b": 7}), (A, B)),
        (FOUR, {}, (A, B)),
        (aggregated(FOUR, 0), WELL, (A, B)),
        (FOUR, WELL, (A, dead("b"))),
        (away(divided({"b": 1}), 8, b=8), WELL, (A, B)),
    ],
    ids=[
        "not back", "not seen yet", "back since nobody knows", "not heard of", "held down",
        "held down, and tolerated", "to be left again", "cordoned",
        "a copy is not whole", "a copy is not seen", "a spec that is not rendered", "another is lost", "not asked for",
    ],
)  # fmt: skip
def test_s1_no_step_is_taken_unless_all_is_well(
    bound: ResourceBinding, copies: Mapping[str, Work], clusters: tuple[Cluster, ...]
) -> None:
    found = decide(bound, TWO_HOMES, copies, *clusters, seconds=700)
    assert (found.spec, found.wake_at) == (None, None)
    assert found.original is not None


def test_who_is_trusted_returns_and_the_next_is_looked_at_when_it_will_be() -> None:
    homes = {"a": 4, "b": 2, "c": 2}
    later = msgspec.structs.replace(ready_since(300), metadata=C.metadata)
    found = decide(FOUR, homes, WELL, A, B, later)
    assert found.spec is not None
    assert (found.spec.clusters, found.wake_at) == (targets(a=2, b=6), at(900))
    both = decide(FOUR, homes, WELL, A, B, C)
    assert both.spec is not None
    assert both.spec.clusters == targets(a=2, b=6), "the greatest lack first"
    nobody = decide(FOUR, homes, WELL, dead("a"), B, later)
    assert (nobody.spec, nobody.wake_at) == (None, at(900))
    assert decide(FOUR, homes, WELL, ready_since(400), B, later).wake_at == at(900), "the first of them"
    assert decide(aggregated(FOUR, 0), homes, WELL, A, B, later).wake_at == at(900), "though no step may be taken"


def test_no_more_returns_than_there_is_room_for() -> None:
    bound = aggregated(spread(DYNAMIC, {"b": 8}))
    found = decide(bound, TWO_HOMES, WELL, roomy(A, 1), roomy(B, 0))
    assert found.spec is not None
    assert found.spec.clusters == targets(a=1, b=7)
    assert decide(bound, TWO_HOMES, WELL, roomy(A, 0), roomy(B, 0)).spec is None
    static = decide(FOUR, TWO_HOMES, WELL, roomy(A, 0), roomy(B, 0))
    assert static.spec is not None, "static weights ask nobody"


def pair(*, most: int = 2) -> Placement:
    constraint = SpreadConstraint(spread_by_field="cluster", min_groups=most, max_groups=most)
    return msgspec.structs.replace(duplicated("a", "b", "c", "d"), spread_constraints=(constraint,))


def test_one_copy_returns_for_one_that_was_not_there_before() -> None:
    bound = away(pair(), 3, b=3, c=3)
    found = decide(bound, {"a": 3, "b": 3}, works({"b": 3, "c": 3}), A, B, C)
    assert found.spec is not None
    assert (found.spec.clusters, found.spec.graceful_eviction_tasks) == (targets(a=3, b=3), (task("c", 3),))
    assert dict(found.moved) == {"a": 3}
    strangers = away(pair(), 3, d=3, c=3)
    both = decide(strangers, {"a": 3, "b": 3}, works({"d": 3, "c": 3}), A, B, C, cluster("d"))
    assert both.spec is not None
    assert both.spec.clusters == targets(a=3, d=3), "step by step, by name"


def test_a_copy_that_returns_has_the_components_of_the_others_and_all_of_the_other_leaves() -> None:
    parts = (TargetComponent("driver", 1), TargetComponent("executor", 2))
    bound = changed(away(pair(), 3), clusters=tuple(TargetCluster(name, 5, components=parts) for name in "bc"))
    found = decide(bound, {"a": 3, "b": 3}, works({"b": 5, "c": 5}), A, B, C)
    assert found.spec is not None
    returned, stayed = found.spec.clusters
    assert (returned, stayed.name) == (TargetCluster("a", 3, components=parts), "b"), "nothing of c stays"


def test_s2_where_a_constraint_allows_nothing_between_all_return_at_once_or_none() -> None:
    bound = aggregated(spread(DYNAMIC, {"b": 8}, groups=(1, 1)))
    found = decide(bound, {"a": 8}, WELL, roomy(A, 9), roomy(B, 0))
    assert found.spec is not None
    assert (found.spec.clusters, found.spec.graceful_eviction_tasks) == ((TargetCluster("a", 8),), (task("b", 8),))
    assert decide(bound, TWO_HOMES, WELL, roomy(A, 9), roomy(B, 0)).spec is None
    later = msgspec.structs.replace(ready_since(300), metadata=C.metadata)
    waits = decide(bound, {"a": 4, "b": 2, "c": 2}, WELL, roomy(A, 9), roomy(B, 0), roomy(later, 9))
    assert (waits.spec, waits.wake_at) == (None, at(900))
    assert waits.original is not None


@pytest.mark.parametrize(
    ("homes", "held", "expected"),
    [
        ({"a": 4, "b": 2, "d": 2}, {"a": 3, "b": 5}, {"a": 4, "b": 4}),
        ({"a": 4, "b": 4}, {"a": 3, "b": 4, "c": 1}, {"a": 4, "b": 4}),
    ],
    ids=["more is too much than is missing", "the last one elsewhere"],
)
def test_no_more_returns_than_is_missing(homes: dict[str, int], held: dict[str, int], expected: dict[str, int]) -> None:
    found = decide(away(SHARES, 8, **held), homes, works(held), A, B, C, dead("d"))
    assert found.spec is not None
    assert {target.name: target.replicas for target in found.spec.clusters} == expected


def test_nothing_more_returns_to_a_cordoned_cluster_that_has_a_part() -> None:
    held = {"a": 3, "b": 5}
    assert decide(away(SHARES, 8, **held), TWO_HOMES, works(held), CORDONED, B).spec is None


def test_s2_nothing_returns_out_of_the_term_that_the_binding_is_in() -> None:
    terms = tuple(ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=(name,)) for n, name in enumerate("ab"))
    placement = msgspec.structs.replace(SHARES, cluster_affinity=None, cluster_affinities=terms)
    bound = away(placement, 8, b=8)
    bound = msgspec.structs.replace(
        bound, status=msgspec.structs.replace(bound.status, scheduler_observing_affinity_name="t1")
    )
    assert decide(bound, TWO_HOMES, WELL, A, B).spec is None


def test_aggregated_replicas_return_as_far_as_there_is_room() -> None:
    found = decide(aggregated(spread(AGGREGATED, {"b": 8})), TWO_HOMES, WELL, roomy(A, 1), roomy(B, 0))
    assert found.spec is not None
    assert found.spec.clusters == targets(a=1, b=7)


# between affinity terms


def between(held: Mapping[str, int], *, is_divided: bool = True, most: int = 0) -> ResourceBinding:
    """Binding in the second of two terms, `a` and `b, c`."""
    named = (("first", ("a",)), ("second", ("b", "c")))
    terms = tuple(ClusterAffinityTerm(affinity_name=name, cluster_names=clusters) for name, clusters in named)
    limit = (SpreadConstraint(spread_by_field="cluster", min_groups=1, max_groups=most),) if most else ()
    placement = msgspec.structs.replace(
        SHARES if is_divided else duplicated(),
        cluster_affinity=None,
        cluster_affinities=terms,
        spread_constraints=limit,
        **({"replica_scheduling": AGGREGATED} if most else {}),
    )
    bound = away(placement, sum(held.values()) if is_divided else 3, **held)
    status = msgspec.structs.replace(bound.status, scheduler_observing_affinity_name="second")
    return msgspec.structs.replace(bound, status=status)


def step(
    bound: ResourceBinding, goal: Mapping[str, int], copies: Mapping[str, Work], *, begins: bool = True
) -> Failback:
    there = fleet(*(roomy(each, 99) for each in (A, B, C)))
    known = OriginalPlacement("digest", at(0), {"a": 1}, "first")
    return step_between_terms(
        bound, known, goal, there, table(bound, there, copies, at(600)), at(600), OPTIONS, begins=begins
    )


@pytest.mark.parametrize(
    ("bound", "goal", "expected", "leaving"),
    [
        (between({"b": 8}), {"a": 8}, {"a": 2, "b": 6}, {"b": 2}),
        (between({"b": 4, "c": 4}), {"a": 8}, {"a": 2, "b": 2, "c": 4}, {"b": 2}),
        (between({"a": 2, "b": 6}), {"a": 8}, {"a": 4, "b": 4}, {"b": 2}),
        (between({"b": 8}, most=1), {"a": 8}, {"a": 8}, {"b": 8}),
        (between({"b": 3, "c": 3}, is_divided=False), {"a": 3}, {"a": 3}, {"b": 3, "c": 3}),
        (between({"a": 3, "c": 3}, is_divided=False), {"a": 3, "b": 3}, {"a": 3, "b": 3}, {"c": 3}),
    ],
    ids=["a step", "from one of two", "a further one", "at once where no step is a placement", "copies", "a part"],
)
def test_a_step_between_terms(
    bound: ResourceBinding, goal: dict[str, int], expected: dict[str, int], leaving: dict[str, int]
) -> None:
    held = bound.spec.assigned
    for begins in (True, False):
        found = step(bound, goal, works(held), begins=begins)
        assert found.spec is not None
        assert found.spec.assigned == expected
        assert {each.from_cluster: each.replicas for each in found.spec.graceful_eviction_tasks} == leaving
        assert found.original is not None
        assert (found.original.clusters, found.original.term) == (goal if begins else {"a": 1}, "first")
        assert dict(found.original.away) == (dict(held) if begins else {})


@pytest.mark.parametrize(
    ("bound", "goal", "copies", "is_kept"),
    [
        (between({"a": 8}), {"a": 8}, works({"a": 8}), False),
        (aggregated(between({"b": 8}), 0), {"a": 8}, works({"b": 8}), True),
        (between({"a": 2, "b": 6}), {"a": 8}, works({"a": 1, "b": 6}), True),
        (between({"b": 4, "c": 4}, most=1), {"a": 2, "b": 6}, works({"b": 4, "c": 4}), True),
    ],
    ids=["all is there", "a spec that is not rendered", "what returned is not well yet", "no step is a placement"],
)
def test_no_step_between_terms_is_taken(
    bound: ResourceBinding, goal: dict[str, int], copies: Mapping[str, Work], *, is_kept: bool
) -> None:
    found = step(bound, goal, copies)
    assert (found.spec, found.original is not None) == (None, is_kept)


def test_what_leaves_a_term_may_be_in_any_state() -> None:
    found = step(between({"a": 2, "b": 6}), {"a": 8}, works({"a": 2, "b": None}))
    assert found.spec is not None


@pytest.mark.parametrize(
    ("placed_in", "clusters", "term"),
    [
        ("second", (dead("a"), B, C), "first"),
        ("second", (A, dead("b"), C), None),
        ("second", (A, B, C), None),
        ("first", (dead("a"), B, C), None),
        ("second", (dead("a"), dead("b"), C), "first"),
    ],
)
def test_a_binding_whose_first_place_is_behind_an_outage_is_to_go_where_it_would_have_been(
    placed_in: str, clusters: tuple[Cluster, ...], term: str | None
) -> None:
    spec = between({"b": 8}).spec
    found = first_missed(spec, placed_in, fleet(*clusters), at(7.5))
    assert (None if found is None else (found.term, found.at, found.clusters)) == (term and (term, at(7), {}))


def test_a_return_that_fails_goes_back_to_where_it_came_from_and_is_tried_again_later_where_that_fails() -> None:
    begun = OriginalPlacement("digest", at(0), {"a": 8}, "first", {"b": 8})
    back = given_up(begun, "second", at(9.5))
    assert back == OriginalPlacement("digest", at(0), {"b": 8}, "second")
    assert given_up(back, "third", at(9.5)) == msgspec.structs.replace(back, at=at(9))


def test_one_that_has_forgotten_where_it_goes_goes_to_the_term_that_it_is_said_to_be_in() -> None:
    bound = between({"a": 2, "b": 6})
    found = forgotten(bound, fleet(A, B, C), at(7.5))
    assert (found.clusters, found.term, found.at) == ({"b": 6}, "second", at(7))
    status = msgspec.structs.replace(bound.status, last_scheduled_time=at(5))
    assert forgotten(msgspec.structs.replace(bound, status=status), fleet(A, B, C), at(7.5)).at == at(5)
