"""Sights of applications in a lost cluster: what a binding and its Works say of one, and the state that it is in."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from kubeapi.core import Taint, Toleration
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.outage import MoveState
from leeward.api.policy import Placement
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import ALWAYS, Gap, WatchedTime
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.sight import ClusterSight, CopySight, decide_state, sight_of
from tests.builders import aggregated, at, binding, cluster, divided, duplicated, targets, wanting, work, works
from tests.unit.core.outages.looks import NO_EXECUTE, elsewhere, gone, held, here, lost

SHARES = divided({"member1": 1, "member2": 1, "member3": 1})
LEAVING = GracefulEvictionTask("member1", "TaintUntolerated", "TaintManager", creation_timestamp=at(630))
OTHER = GracefulEvictionTask("member9", "TaintUntolerated", "TaintManager", creation_timestamp=at(600))
HELD, FULFILLED = (
    Condition(EVICTION_HELD_CONDITION, status, HeldReason.NO_PLACE_TO_GO.value, "no place", at(700))
    for status in ("True", "False")
)


def bound(
    *tasks: GracefulEvictionTask,
    placement: Placement = SHARES,
    replicas: int = 4,
    conditions: tuple[Condition, ...] = (),
    **clusters: int,
) -> ResourceBinding:
    made = aggregated(binding(placement, replicas, targets(**clusters), tasks))
    status = replace(made.status, conditions=(*made.status.conditions, *conditions))
    return replace(made, metadata=replace(made.metadata, creation_timestamp=at(-100)), status=status)


def seen(
    made: ResourceBinding,
    copies: Mapping[str, Work] | None = None,
    *taints: Taint,
    watched: WatchedTime = ALWAYS,
) -> CopySight:
    there, copies = lost(*taints), copies or {}
    clusters = {"member1": there, **{name: cluster(name) for name in ("member2", "member3")}}
    return sight_of(made, there, clusters, copies.get, at(700), watched)


def test_all_that_an_outage_concerns_is_seen() -> None:
    made = bound(OTHER, LEAVING, conditions=(FULFILLED, HELD)[1:], member1=1, member2=3)
    assert seen(made, works({"member2": 3}), NO_EXECUTE) == CopySight(
        kind="Deployment",
        name="nginx",
        namespace="default",
        targets={"member1": 1, "member2": 3},
        is_here=True,
        uid="uid-1",
        made_at=at(-100),
        task=LEAVING,
        hold=HELD,
        tolerated_seconds=300,
        due_at=at(630),
        is_replaced=True,
        is_behind=True,
    )


@pytest.mark.parametrize("conditions", [(), (FULFILLED,), (replace(HELD, type="Scheduled"),)])
def test_a_hold_is_one_while_the_condition_is_true(conditions: tuple[Condition, ...]) -> None:
    assert seen(bound(conditions=conditions, member1=4)).hold is None


@pytest.mark.parametrize(
    ("made", "copies", "behind"),
    [
        (bound(member1=4), works({"member1": 4}), False),
        (bound(member2=4), works({"member1": 4}), True),
        (bound(member2=4), works({"member2": 4}), False),
        (bound(LEAVING, member1=1, member2=3), {}, True),
        (bound(LEAVING, member2=4), {}, True),
        (bound(OTHER, member2=4), {}, False),
    ],
    ids=["it is here", "its Work is here", "nothing is left", "a part leaves", "all of it leaves", "another leaves"],
)
def test_an_old_copy_is_behind_while_it_leaves_and_while_its_work_is_there(
    made: ResourceBinding, copies: Mapping[str, Work], *, behind: bool
) -> None:
    sight = seen(made, copies)
    assert (sight.is_behind, sight.is_here) == (behind, any(t.name == "member1" for t in made.spec.clusters))


COPIES = duplicated("member1", "member2", "member3")


def stalled(**ready: int) -> dict[str, Work]:
    """Copies of which that in member3 is in a rollout that stands still: Unhealthy, while its old replicas serve."""
    copies = works(ready)
    status = copies["member3"].status
    report = replace(status.manifest_statuses[0], health="Unhealthy")
    return {**copies, "member3": replace(copies["member3"], status=replace(status, manifest_statuses=(report,)))}


@pytest.mark.parametrize(
    ("made", "copies", "replaced"),
    [
        (bound(member2=4), works({"member2": 4}), True),
        (bound(member2=4), works({"member2": 3}), False),
        (bound(member2=4), works({"member3": 4}), False),
        (bound(member2=4), {}, False),
        (bound(member2=3), works({"member2": 3}), False),
        (bound(member2=5), works({"member2": 5}), True),
        (bound(member2=2, member3=2), works({"member2": 2, "member3": 2}), True),
        (bound(member2=2, member3=2), works({"member2": 2, "member3": 1}), False),
        (bound(LEAVING, member1=1, member2=3), works({"member2": 3}), True),
        (bound(member1=1, member2=3), works({"member1": 1, "member2": 3}), False),
        (bound(), {}, False),
        (bound(placement=COPIES, member2=4), works({"member2": 4}), True),
        (bound(placement=COPIES, member2=1), works({"member2": 1}), True),
        (bound(placement=COPIES, member2=4, member3=4), stalled(member2=4, member3=4), True),
        (bound(placement=COPIES, member2=4, member3=4), stalled(member2=4, member3=3), False),
        (bound(member2=4), {"member2": wanting(2, work("member2", 2))}, True),
        (bound(member2=4), {"member2": wanting(3, work("member2", 2))}, False),
        (aggregated(bound(member2=4), 0), works({"member2": 4}), False),
    ],
    ids=[
        "healthy elsewhere", "not all of it", "in another cluster", "nothing seen", "too few are placed",
        "more are placed", "in two clusters", "in one of two", "a part has left", "nothing has left", "no place",
        "a copy", "a copy that asks for less", "a rollout that stands still", "one that costs a replica",
        "its own autoscaler wants fewer", "not all that its own autoscaler wants", "a binding that is not rendered",
    ],
)  # fmt: skip
def test_s1_it_is_replaced_once_all_that_is_asked_for_is_seen_to_serve_elsewhere(
    made: ResourceBinding, copies: Mapping[str, Work], *, replaced: bool
) -> None:
    assert seen(made, copies).is_replaced is replaced


def tolerating(**seconds: int | None) -> ResourceBinding:
    tolerations = tuple(
        Toleration(f"cluster.karmada.io/{key.replace('_', '-')}", "Exists", "", "NoExecute", limit)
        for key, limit in seconds.items()
    )
    return bound(placement=replace(SHARES, cluster_tolerations=tolerations), member1=4)


UNREACHABLE = Taint("cluster.karmada.io/unreachable", "NoExecute", time_added=at(330))
BARRED = Taint("cluster.karmada.io/not-ready", "NoSchedule", time_added=at(30))
DRAINED = Taint("leeward.dev/drain", "NoExecute", time_added=at(0))
BOTH = tolerating(not_ready=300, unreachable=60)


@pytest.mark.parametrize(
    ("made", "taints", "watched", "expected"),
    [
        (BOTH, (), ALWAYS, (300, None)),
        (BOTH, (NO_EXECUTE,), ALWAYS, (300, at(630))),
        (BOTH, (UNREACHABLE,), ALWAYS, (60, at(390))),
        (BOTH, (DRAINED,), ALWAYS, (300, None)),
        (BOTH, (BARRED,), ALWAYS, (300, None)),
        (BOTH, (BARRED, DRAINED, UNREACHABLE), ALWAYS, (60, at(390))),
        (BOTH, (NO_EXECUTE,), WatchedTime((Gap(at(400), at(500)),)), (300, at(730))),
        (tolerating(not_ready=None), (), ALWAYS, (None, None)),
        (tolerating(not_ready=None), (NO_EXECUTE,), ALWAYS, (None, None)),
        (tolerating(), (), ALWAYS, (0, None)),
        (tolerating(), (NO_EXECUTE,), ALWAYS, (0, at(700))),
    ],
    ids=[
        "no taint yet", "not ready", "unreachable", "drained", "barred", "of several the automatic one",
        "not all was watched", "for ever, no taint yet", "for ever", "not at all, no taint yet", "not at all",
    ],
)  # fmt: skip
def test_s13_it_is_tolerated_from_the_automatic_taint_on(
    made: ResourceBinding, taints: tuple[Taint, ...], watched: WatchedTime, expected: tuple[int | None, object]
) -> None:
    sight = seen(made, None, *taints, watched=watched)
    assert (sight.tolerated_seconds, sight.due_at) == expected


DEAD, BACK = lost(NO_EXECUTE), lost(ready_since=at(690))
NO_PLACE, NO_GAIN = held(HeldReason.NO_PLACE_TO_GO), held(HeldReason.NOTHING_TO_GAIN)
PART = here(task=LEAVING)


@pytest.mark.parametrize(
    ("sight", "there", "expected"),
    [
        (gone(is_replaced=True, hold=NO_PLACE), DEAD, (MoveState.MOVED, "", "")),
        (here(task=LEAVING, is_replaced=True), DEAD, (MoveState.MOVED, "", "")),
        (here(task=LEAVING, is_replaced=True, hold=NO_PLACE), DEAD,
            (MoveState.HELD, "NoPlaceToGo", "because of NoPlaceToGo")),
        (PART, DEAD, (MoveState.MOVING, "", "")),
        (gone(), BACK, (MoveState.MOVING, "", "")),
        (elsewhere(hold=NO_PLACE), DEAD, (MoveState.HELD, "NoPlaceToGo", "because of NoPlaceToGo")),
        (elsewhere(hold=NO_PLACE), BACK, (MoveState.MOVING, "", "")),
        (here(), BACK, (MoveState.RETURNED, "", "")),
        (here(due_at=at(700), hold=NO_PLACE), DEAD, (MoveState.HELD, "NoPlaceToGo", "because of NoPlaceToGo")),
        (here(due_at=at(701), hold=NO_PLACE), DEAD, (MoveState.DUE, "", "")),
        (here(due_at=at(700), hold=NO_GAIN), DEAD, (MoveState.KEPT, "NothingToGain", "because of NothingToGain")),
        (here(due_at=at(700), hold=replace(NO_PLACE, reason="OfAnotherVersion")), DEAD,
            (MoveState.HELD, "OfAnotherVersion", "because of NoPlaceToGo")),
    ],
    ids=[
        "replaced, and the condition is about others", "a part is replaced", "a part is held", "a part leaves",
        "it leaves", "held elsewhere", "its cluster is back", "it is well again", "due now", "due in a second",
        "kept", "for a reason of another version",
    ],
)  # fmt: skip
def test_a_state_is_that_of_what_was_decided(
    sight: CopySight, there: Cluster, expected: tuple[MoveState, str, str]
) -> None:
    assert decide_state(sight, None, ClusterSight(there, at(700))) == expected


def test_what_is_not_due_says_in_a_sentence_why_it_stays() -> None:
    unseen = Condition("Ready", "False", "StatusCollectionFailed", "", at(30))
    uncollected = replace(DEAD, status=replace(DEAD.status, conditions=(unseen, DEAD.status.conditions[1])))
    told = [
        decide_state(here(tolerated_seconds=seconds), None, there)[2]
        for seconds, there in (
            (300, ClusterSight(uncollected, at(700))),
            (300, ClusterSight(DEAD, at(700), evicts=False)),
            (None, ClusterSight(DEAD, at(700))),
            (300, ClusterSight(DEAD, at(700), braked=True)),
        )
    ]
    assert told[:3] == [
        "a cluster that could not be observed is not taken for dead",
        "evictions are switched off",
        "the policy tolerates the outage for ever",
    ]
    assert "brake" in told[3]
