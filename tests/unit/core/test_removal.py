"""Messages about removals that do not come to an end."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.cluster import Cluster, Taint
from leeward.api.meta import Condition
from leeward.api.names import (
    FAILING_CONDITION,
    NOT_OBSERVED_CONDITION,
    NOT_READY_TAINT,
    REMOVAL_BLOCKED_CONDITION,
    REMOVAL_HELD_ANNOTATION,
    TEMPLATE_UID_ANNOTATION,
    VOLUMES_FOLLOW_ANNOTATION,
    WORK_ID_LABEL,
)
from leeward.api.policy import ApplicationFailover, ClusterFailover, DecisionConditions, FailoverBehavior
from leeward.api.work import (
    CLUSTER_NOT_READY,
    BindingResource,
    ReplicaRequirements,
    ResourceBindingSpec,
    ResourceBindingStatus,
    Work,
    WorkStatus,
)
from leeward.core.binding_status import tell
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, Gap, WatchedTime
from leeward.core.copies.disruption import copies_of
from leeward.core.execution.removal import (
    goes_at_once,
    held_scale_downs,
    is_order_about,
    is_return_kept,
    may_change_holds,
    why_removal_waits,
)
from leeward.core.execution.removal_conditions import (
    leaving,
    removal_blocked,
    removal_refused,
    removals_blocked,
)
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets, work


def kept(kind: str, name: str, *finalizers: str, namespace: str = "default", deleted: bool = True) -> Manifest:
    metadata: Manifest = {"name": name, "finalizers": list(finalizers)}
    if namespace:
        metadata["namespace"] = namespace
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": kind, "metadata": metadata}


def test_the_objects_and_the_finalizers_that_keep_them_are_named() -> None:
    blocked = removal_blocked(
        [kept("Deployment", "web", "a.com/x", "b.com/y"), kept("Namespace", "n", "c", namespace="")]
    )
    assert blocked is not None
    assert (blocked.type, blocked.status, blocked.reason) == ("leeward.dev/RemovalBlocked", "True", "Finalizers")
    assert (
        blocked.message == "Deployment default/web has the finalizers a.com/x, b.com/y; Namespace n has the finalizer c"
    )


def made_of(uid: str, work_id: str, kind: str = "PersistentVolumeClaim", created: str = "") -> Manifest:
    marks: Manifest = {"labels": {WORK_ID_LABEL: work_id}, "annotations": {TEMPLATE_UID_ANNOTATION: uid}}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "creationTimestamp": created or None, **marks}}


@pytest.mark.parametrize(
    ("manifest", "observed", "given", "found"),
    [
        (made_of("t", "one"), made_of("t", "one"), True, True),
        (made_of("t", "one"), made_of("t", "two"), True, False),
        (made_of("t", "one"), made_of("other", "one"), False, False),
        (made_of("", "one"), made_of("", "one"), True, False),
        (made_of("", "one"), made_of("t", "one"), True, False),
        (made_of("t", "one", "Secret"), made_of("t", "two", "Secret"), True, True),
        (made_of("t", "one", "Secret"), made_of("other", "one", "Secret"), False, False),
        (made_of("", "", "Secret"), made_of("", "", "Secret", "2026-01-01T00:00:00Z"), True, True),
        (made_of("", "", "Secret"), made_of("", "", "Secret", "2027-01-01T00:00:00Z"), True, False),
        (made_of("", "", "Secret"), made_of("", "", "Secret"), True, True),
        (made_of("t", "", "Secret"), made_of("", "", "Secret", "2026-01-01T00:00:00Z"), True, True),
        (made_of("t", "", "Secret"), made_of("", "", "Secret", "2027-01-01T00:00:00Z"), True, False),
    ],
)
def test_s5_an_order_is_about_the_object_that_the_work_has_made(
    manifest: Manifest, observed: Manifest, *, given: bool, found: bool
) -> None:
    """An object that somebody has wanted again since an order that was found is another Work's."""
    going = Work(metadata=ObjectMeta(name="x", deletion_timestamp=at(0)))
    assert is_order_about(going, manifest, observed, found=False) == given
    assert is_order_about(going, manifest, observed, found=True) == found


def test_what_only_takes_its_time_or_is_not_being_deleted_blocks_nothing() -> None:
    assert removal_blocked([kept("Deployment", "web"), kept("Deployment", "api", "a.com/x", deleted=False)]) is None
    assert removal_blocked([]) is None


def test_a_binding_tells_of_works_that_are_being_deleted_and_of_no_others() -> None:
    blocked = removal_blocked([kept("Deployment", "web", "a.com/x")])
    assert blocked is not None
    work = Work(metadata=ObjectMeta(name="web"), status=WorkStatus(conditions=(blocked,)))
    assert removals_blocked({"member1": work}) is None
    leaving = msgspec.structs.replace(work, metadata=msgspec.structs.replace(work.metadata, deletion_timestamp=at(0)))
    told = removals_blocked({"member2": leaving, "member1": leaving, "member3": work})
    assert told is not None
    assert (told.type, told.status, told.reason) == ("leeward.dev/RemovalBlocked", "True", "Finalizers")
    assert told.message == (
        "Still runs in member1, because Deployment default/web has the finalizer a.com/x. "
        "Still runs in member2, because Deployment default/web has the finalizer a.com/x."
    )


def test_a_binding_tells_why_a_cluster_deletes_nothing_before_whose_finalizers_keep_what_another_one_deletes() -> None:
    kept_there = removal_blocked([kept("Deployment", "web", "a.com/x")])
    refused = removal_refused("to delete Deployment default/web: webhook is down")
    assert (refused.type, refused.status, refused.reason) == ("leeward.dev/RemovalBlocked", "True", "Refused")
    leaving = ObjectMeta(name="web", deletion_timestamp=at(0))
    works = {
        name: Work(metadata=leaving, status=WorkStatus(conditions=(condition,)))
        for name, condition in (("member1", refused), ("member2", kept_there))
        if condition is not None
    }
    told = removals_blocked(works)
    assert told is not None
    assert (told.reason, told.message) == (
        "Refused",
        "Still runs in member1, because the cluster refuses to delete Deployment default/web: webhook is down. "
        "Still runs in member2, because Deployment default/web has the finalizer a.com/x.",
    )


def marked_as_held(copy: Work, mark: str = "true") -> Work:
    held = msgspec.structs.replace(copy.metadata, annotations={REMOVAL_HELD_ANNOTATION: mark})
    return msgspec.structs.replace(copy, metadata=held)


def test_a_binding_tells_of_removals_that_are_held_and_of_both_kinds_at_once() -> None:
    held = marked_as_held(work("member1", 3))
    works = {"member2": held, "member1": held, "member3": work("member3", 3)}
    told = removals_blocked(
        works, {"member2": "ReplacementLost", "member1": "NotReplaced", "member3": CLUSTER_NOT_READY}
    )
    assert told is not None
    assert (told.type, told.status, told.reason) == ("leeward.dev/RemovalBlocked", "True", "ReplacementLost")
    assert told.message == ("Not removed from member1, member2, because the new copy, or its cluster, is not healthy.")
    blocked = removal_blocked([kept("Deployment", "web", "a.com/x")])
    assert blocked is not None
    metadata = ObjectMeta(name="web", deletion_timestamp=at(0))
    leaving = Work(metadata=metadata, status=WorkStatus(conditions=(blocked,)))
    both = removals_blocked({"member1": held, "member2": leaving}, {"member1": "NotReplaced"})
    assert both is not None
    assert (both.reason, both.message) == (
        "ReplacementLost",
        "Still runs in member2, because Deployment default/web has the finalizer a.com/x. "
        "Not removed from member1, because the new copy, or its cluster, is not healthy.",
    )


def held_now(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    attention: Attention = UNKEPT,
    now: float = 100,
) -> bool:
    return bool(why_removal_waits(spec, "member1", works, clusters, attention, at(now)))


def test_a_status_says_what_is_blocked_beside_all_else_and_later_nothing_of_it() -> None:
    other = Condition("FullyApplied", "True", "FullyAppliedSuccess", "all of it", at(0))
    status = ResourceBindingStatus(scheduler_observed_generation=4, conditions=(other,))
    blocked = Condition("leeward.dev/RemovalBlocked", "True", "Finalizers", "Still runs in member1.")
    told = tell(status, {REMOVAL_BLOCKED_CONDITION: blocked}, at(60))
    assert told.scheduler_observed_generation == 4
    assert told.conditions == (other, msgspec.structs.replace(blocked, last_transition_time=at(60)))
    assert tell(told, {REMOVAL_BLOCKED_CONDITION: blocked}, at(120)) == told, "nothing is written again"
    assert tell(told, {REMOVAL_BLOCKED_CONDITION: None}, at(180)) == status
    assert tell(status, {REMOVAL_BLOCKED_CONDITION: None}, at(180)) == status


@pytest.mark.parametrize(
    ("away", "lost", "was_held", "ready", "held"),
    [
        (True, True, False, 3, True),
        (True, False, False, 3, True),
        (False, True, False, 3, True),
        (False, True, True, 3, True),
        (False, False, True, 0, True),
        (False, False, True, 3, False),
    ],
    ids=["both away", "one away", "under way", "held", "held until it is healthy", "healthy"],
)
def test_s1_what_was_to_go_while_its_cluster_was_away_stays_as_long_as_its_replacement_is_lost(
    *, away: bool, lost: bool, was_held: bool, ready: int, held: bool
) -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    leaving = work("member1", 3)
    if was_held:
        leaving = marked_as_held(leaving)
    alive = fleet(dead("member1") if away else cluster("member1"), dead("member2") if lost else cluster("member2"))
    assert held_now(spec, {"member1": leaving, "member2": work("member2", ready)}, alive) == held


def test_s1_nothing_is_removed_where_it_was_held_and_nothing_replaces_it() -> None:
    spec = binding(duplicated("member1"), 3).spec
    works = {"member1": marked_as_held(work("member1", 3))}
    assert held_now(spec, works, fleet(cluster("member1")))
    assert not held_now(spec, works, {}), "its cluster has left the fleet"


def test_a_removal_that_is_held_because_a_cluster_begins_to_fail_stays_held() -> None:
    failing = Condition(FAILING_CONDITION, "True", "ClusterNotReachable", last_transition_time=at(0))
    target = cluster("member2")
    status = msgspec.structs.replace(target.status, conditions=(*target.status.conditions, failing))
    alive = fleet(dead("member1"), msgspec.structs.replace(target, status=status))
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    copies = {"member1": work("member1", 3), "member2": work("member2", 3)}
    assert held_now(spec, copies, alive)
    copies["member1"] = marked_as_held(copies["member1"])
    assert held_now(spec, copies, alive), "or it would be held and not held by turns"


@pytest.mark.parametrize("reason", ["its cluster is being unjoined", "nothing is asked for"])
def test_what_a_person_asks_for_is_removed_though_nothing_replaces_it(reason: str) -> None:
    """Either of the two reasons is enough."""
    spec = binding(divided({"member1": 1}), 3).spec
    there = cluster("member1")
    if reason == "nothing is asked for":
        spec = msgspec.structs.replace(spec, replicas=0, replica_requirements=ReplicaRequirements())
    else:
        leaving = msgspec.structs.replace(there.metadata, deletion_timestamp=at(0))
        there = msgspec.structs.replace(there, metadata=leaving)
    works = {"member1": marked_as_held(work("member1", 3))}
    assert held_now(binding(divided({"member1": 1}), 3).spec, works, fleet(cluster("member1")))
    assert not held_now(spec, works, fleet(there))


def test_s1_a_target_whose_cluster_is_not_listed_is_not_well() -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    copies = {"member1": marked_as_held(work("member1", 3)), "member2": work("member2", 3)}
    assert held_now(spec, copies, fleet(cluster("member1")))


def test_a_dependency_that_nobody_needs_any_more_waits_for_nothing() -> None:
    made = binding(duplicated("member1"), 0)
    spec = msgspec.structs.replace(made.spec, placement=None)
    works = {"member1": marked_as_held(work("member1", 3))}
    assert not held_now(spec, works, fleet(cluster("member1")))
    empty = msgspec.structs.replace(spec, replica_requirements=ReplicaRequirements())
    followed = copies_of(made.spec, {}, fleet(cluster("member1")), at(100))
    needed: Any = {"needed_by": [followed]}
    there = {"member1": marked_as_held(work("member1", 3), "away")}
    assert why_removal_waits(empty, "member1", there, fleet(cluster("member1")), UNKEPT, at(100), **needed), (
        "without replicas"
    )
    placed = msgspec.structs.replace(spec, clusters=targets(member2=0))
    assert held_now(placed, works, fleet(cluster("member1"), dead("member2"))), "one that is placed itself does"


@pytest.mark.parametrize(
    ("asked", "now", "ready", "held"),
    [(10, 110, 3, False), (10, 110, 2, True), (85, 110, 2, False), (10, 90, 3, True), (85, 90, 2, False)],
    ids=["healthy", "not healthy", "asked since", "not looked at yet", "asked since, not looked at yet"],
)
def test_s13_a_dependency_that_is_removed_of_old_stays_until_what_needs_it_is_seen_healthy(
    asked: float, now: float, ready: int, *, held: bool
) -> None:
    spec = msgspec.structs.replace(binding(duplicated("member1"), 0).spec, placement=None)
    alive = fleet(cluster("member1"), cluster("member2"))
    needing = binding(duplicated("member2"), 3, targets(member2=3)).spec
    well, dependant = (copies_of(needing, {"member2": work("member2", n)}, alive, at(now)) for n in (3, ready))
    works, gap = {"member1": asked_at(asked)}, away(20, 80, 100)
    assert bool(why_removal_waits(spec, "member1", works, alive, gap, at(now), needed_by=[well, dependant])) is held


@pytest.mark.parametrize(
    ("back", "serving", "held"),
    [(50, 3, False), (50, 2, True), (-50, 2, False), (None, 3, True)],
    ids=["healthy", "not healthy", "asked since", "away"],
)
def test_s1_a_dependency_that_was_to_go_while_its_cluster_was_away_stays_until_what_needs_it_is_seen_healthy(
    back: float | None, serving: int, *, held: bool
) -> None:
    spec = msgspec.structs.replace(binding(duplicated("member1"), 0).spec, placement=None)
    alive = fleet(dead("member1") if back is None else ready("member1", back), cluster("member2"))
    needing = binding(duplicated("member2"), 3, targets(member2=3)).spec
    dependant = copies_of(needing, {"member2": work("member2", serving)}, alive, at(110))
    works = {"member1": asked_at(10)}
    assert bool(why_removal_waits(spec, "member1", works, alive, UNKEPT, at(110), needed_by=[dependant])) is held


def asked_at(seconds: float, *, held: bool = False) -> Work:
    """A Work of 3 replicas whose deletion was asked for then."""
    copy = work("member1", 3)
    copy = marked_as_held(copy) if held else copy
    return msgspec.structs.replace(
        copy, metadata=msgspec.structs.replace(copy.metadata, deletion_timestamp=at(seconds))
    )


def away(start: float, end: float, settled: float) -> Attention:
    return Attention(WatchedTime((Gap(at(start), at(end)),)), "b", settled_at=at(settled))


@pytest.mark.parametrize(
    ("asked", "now", "ready", "held"),
    [
        (10, 90, 3, True),
        (10, 110, 3, False),
        (10, 110, 2, True),
        (40, 90, 3, True),
        (85, 90, 2, True),
        (85, 90, 3, True),
        (85, 110, 3, False),
        (None, 110, 3, False),
    ],
    ids=[
        "not looked at yet",
        "healthy",
        "not healthy",
        "asked in the gap",
        "asked behind it",
        "asked behind it, healthy by older reports",
        "asked behind it, later",
        "not asked yet",
    ],
)
def test_s1_a_removal_that_is_older_than_a_time_in_which_nobody_watched_waits_for_what_is_seen_again(
    asked: float | None, now: float, ready: int, *, held: bool
) -> None:
    """Nobody watched from 20 to 80; at 100 everything has been looked at again."""
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    leaves = work("member1", 3) if asked is None else asked_at(asked)
    works = {"member1": leaves, "member2": work("member2", ready)}
    alive = fleet(cluster("member1"), cluster("member2"))
    assert held_now(spec, works, alive, away(20, 80, 100), now) == held


@pytest.mark.parametrize(("named", "asked", "held"), [("member1", 4, True), ("", 4, False), ("", 5, True)])
def test_s1_what_a_user_moves_away_waits_for_no_dead_target_once_as_much_serves_as_goes(
    named: str, asked: int, *, held: bool
) -> None:
    """2 go, 2 serve, and the rest is placed in a cluster that is dead; 5 are one that nobody has placed."""
    spec = binding(divided({"member2": 1, "member3": 1, named: 1}), asked, targets(member2=2, member3=2)).spec
    works = {name: work(name, 2) for name in ("member1", "member2", "member3")}
    assert held_now(spec, works, fleet(cluster("member1"), dead("member2"), cluster("member3"))) is held


@pytest.mark.parametrize(("need", "held"), [(3, True), (2, False)])
def test_s1_what_override_policies_leave_to_the_others_is_all_that_has_to_serve(need: int, *, held: bool) -> None:
    spec = binding(divided({"member1": 1, "member2": 1}), 3, targets(member2=3)).spec
    works, alive = (
        {"member1": work("member1", 3), "member2": work("member2", 2)},
        fleet(cluster("member1"), cluster("member2")),
    )
    assert bool(why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100), needs={"member2": need})) is held


@pytest.mark.parametrize(("lost", "ready", "held"), [(True, 3, True), (False, 2, True), (False, 3, False)])
def test_s1_what_somebody_asks_to_go_waits_for_what_replaces_it(ready: int, *, lost: bool, held: bool) -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": asked_at(100), "member2": work("member2", ready)}
    alive = fleet(cluster("member1"), dead("member2") if lost else cluster("member2"))
    assert held_now(spec, works, alive, now=100) == held


def test_what_a_person_has_ended_is_removed_whatever_replaces_it() -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    ended = marked_as_held(work("member1", 3), "false")
    assert not held_now(spec, {"member1": ended}, fleet(cluster("member1"), dead("member2")))


@pytest.mark.parametrize(("reports", "held"), [(True, False), (False, True)])
def test_a_copy_that_nobody_can_count_is_removed_as_asked_while_every_target_reports(
    *, reports: bool, held: bool
) -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {name: uncounted(name) for name in ("member1", "member2")}
    alive = fleet(cluster("member1"), cluster("member2") if reports else dead("member2"))
    assert held_now(spec, works, alive) == held
    several = msgspec.structs.replace(spec, clusters=targets(member2=3, member3=3))
    larger = fleet(*alive.values(), cluster("member3"))
    assert held_now(several, works, larger), "one has no Work"
    works["member3"] = uncounted("member3")
    assert held_now(several, works, alive), "the cluster of one is not listed"
    assert held_now(several, works, larger) == held


def uncounted(name: str) -> Work:
    """A Work that is applied, and whose object nobody judges."""
    copy = work(name, 3)
    told = tuple(msgspec.structs.replace(each, health="Unknown", status=None) for each in copy.status.manifest_statuses)
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=told))


@pytest.mark.parametrize(
    ("ready_since", "asked", "held"),
    [(None, 10, True), (50, 10, True), (50, 50, True), (50, 60, False)],
    ids=["away", "asked while it was away", "asked as it came back", "asked since"],
)
def test_s4_what_was_to_go_while_its_cluster_was_away_stays_while_the_brake_is_engaged(
    ready_since: float | None, asked: float, *, held: bool
) -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": asked_at(asked), "member2": work("member2", 3)}
    there = dead("member1") if ready_since is None else ready("member1", ready_since)
    alive = fleet(there, cluster("member2"))
    why = why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100), brake=True)
    assert why == ("BrakeEngaged" if held else "")
    without = why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100))
    assert without == ("ClusterNotReady" if ready_since is None else ""), "all is well but for the brake"


def test_s4_what_is_held_already_stays_under_the_brake_whatever_the_clocks_said() -> None:
    """The removal was asked for by the API server's clock; the cluster became Ready by another, an hour behind."""
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": marked_as_held(asked_at(60), "away"), "member2": work("member2", 3)}
    alive = fleet(ready("member1", -3500), cluster("member2"))
    assert why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100), brake=True)
    assert not why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100))


def test_s4_a_cluster_of_which_nothing_is_known_counts_as_away_while_the_brake_is_engaged() -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": asked_at(10), "member2": work("member2", 3)}
    alive = fleet(cluster("member1", ready=None), cluster("member2"))
    assert why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100), brake=True)


def ready(name: str, since: float | None) -> Cluster:
    there = cluster(name)
    turned_at = None if since is None else at(since)
    condition = Condition("Ready", "True", "Test", last_transition_time=turned_at)
    return msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=(condition,)))


def test_a_cluster_that_is_unjoined_gives_up_its_copy_under_the_brake_too() -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": asked_at(10), "member2": work("member2", 3)}
    leaving = dead("member1")
    leaving = msgspec.structs.replace(
        leaving, metadata=msgspec.structs.replace(leaving.metadata, deletion_timestamp=at(0))
    )
    alive = fleet(leaving, cluster("member2"))
    assert not why_removal_waits(spec, "member1", works, alive, UNKEPT, at(100), brake=True)


def test_a_binding_says_that_the_brake_holds_a_removal() -> None:
    told = removals_blocked({"member1": work("member1", 3)}, {"member1": "BrakeEngaged"})
    assert told is not None
    assert (told.reason, told.message) == ("BrakeEngaged", "Not removed from member1, because the brake is engaged.")
    assert removals_blocked({"member1": work("member1", 3)}, {"member1": CLUSTER_NOT_READY}) is None


@pytest.mark.parametrize("taints", [(), (NOT_READY_TAINT,)], ids=["clear", "tainted"])
def test_a_cluster_is_back_a_moment_after_its_last_taint_of_the_outage_is_gone(taints: tuple[str, ...]) -> None:
    """Placement may want there again what was to go."""
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {name: work(name, 3) for name in ("member1", "member2")}
    back = ready("member1", 50)
    tainted = tuple(Taint(key, "NoExecute") for key in taints)
    back = msgspec.structs.replace(back, spec=msgspec.structs.replace(back.spec, taints=tainted))
    alive = fleet(back, cluster("member2"))
    told = [why_removal_waits(spec, "member1", works, alive, UNKEPT, at(now)) for now in (50, 50.9, 51)]
    assert told == [CLUSTER_NOT_READY, CLUSTER_NOT_READY, CLUSTER_NOT_READY if taints else ""]
    ahead = why_removal_waits(spec, "member1", works, alive, UNKEPT, at(49.9))
    assert ahead == (CLUSTER_NOT_READY if taints else ""), "a clock that is ahead holds nothing"
    undated = fleet(ready("member1", None), cluster("member2"))
    assert why_removal_waits(spec, "member1", works, undated, UNKEPT, at(50)) == ""
    assert why_removal_waits(spec, "member1", {**works, "member1": asked_at(40)}, undated, UNKEPT, at(50)) == ""


def test_a_work_says_why_its_copy_stays() -> None:
    said = leaving("member1", CLUSTER_NOT_READY)
    assert said is not None
    assert (said.type, said.status, said.reason) == ("leeward.dev/Leaving", "True", "ClusterNotReady")
    assert said.message == (
        "Not wanted in cluster member1. Its copy stays until cluster member1 is Ready again; then it is deleted."
    )
    assert leaving("member1", "") is None


def test_what_is_kept_for_another_copy_that_is_purged_is_told_with_the_reason() -> None:
    told = removals_blocked({"member1": work("member1", 3), "member2": work("member2", 3)}, kept=["member2", "member1"])
    assert told is not None
    why = "no new copy is made before the purged copy is known to be gone"
    assert (told.reason, told.message) == ("WaitingForPurge", f"Not removed from member1, member2, because {why}.")


def test_s1_an_old_removal_waits_for_a_target_that_is_not_well() -> None:
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": asked_at(60), "member2": work("member2", 3)}
    lost = fleet(cluster("member1"), dead("member2"))
    assert held_now(spec, works, lost, away(20, 80, 100), 110)
    assert held_now(spec, works, lost, UNKEPT, 110)


@pytest.mark.parametrize(
    ("ready_since", "asked", "serving", "why"),
    [
        (None, 10, 0, "ClusterNotReady"),
        (50, 10, 0, "ReplacementLost"),
        (50, 10, 2, "ReplacementLost"),
        (50, 10, 3, ""),
        (50, 60, 0, "NotReplaced"),
    ],
    ids=["away", "back", "not all of it", "healthy", "asked since"],
)
def test_s1_what_was_to_go_while_its_cluster_was_away_stays_while_its_replacement_is_not_seen_healthy(
    ready_since: float | None, asked: float, serving: int, why: str
) -> None:
    """The cluster of the replacement is well; what runs there has been healthy, and is no more."""
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    works = {"member1": asked_at(asked), "member2": work("member2", serving)}
    there = dead("member1") if ready_since is None else ready("member1", ready_since)
    assert why_removal_waits(spec, "member1", works, fleet(there, cluster("member2")), UNKEPT, at(100)) == why


@pytest.mark.parametrize(
    ("ready", "brake", "kept"), [(3, False, False), (2, False, True), (3, True, True)], ids=["well", "worse", "braked"]
)
def test_s1_what_comes_back_of_a_work_that_is_gone_stays_until_all_that_is_asked_for_instead_is_healthy(
    ready: int, *, brake: bool, kept: bool
) -> None:
    spec = binding(duplicated("member2"), 3, targets(member2=3)).spec
    alive = fleet(cluster("member1"), cluster("member2"))
    well = copies_of(spec, {"member2": work("member2", 3)}, alive, at(100))
    other = copies_of(spec, {"member2": work("member2", ready)}, alive, at(100))
    assert is_return_kept([well, other], brake=brake) == kept
    assert not is_return_kept([], brake=brake), "nobody asks for it"


@pytest.mark.parametrize(
    ("back", "asked", "mark", "gap", "held"),
    [
        (-50, 60, "", False, False),
        (None, 60, "", False, True),
        (50, 10, "", False, True),
        (-50, 60, "away", False, True),
        (-50, 10, "", True, True),
    ],
    ids=["asked since", "away", "asked while it was away", "held since it was away", "of before a gap"],
)
def test_s1_what_goes_at_once_does_so_where_nobody_can_have_missed_it(
    back: float | None, asked: float, mark: str, *, gap: bool, held: bool
) -> None:
    """Nothing serves in its stead."""
    spec = binding(duplicated("member1", "member2"), 3, targets(member2=3)).spec
    going = marked_as_held(asked_at(asked), mark) if mark else asked_at(asked)
    works = {"member1": going, "member2": work("member2", 0)}
    alive = fleet(dead("member1") if back is None else ready("member1", back), cluster("member2"))
    attention = away(20, 80, 100) if gap else UNKEPT
    assert why_removal_waits(spec, "member1", works, alive, attention, at(110)), "it waits by the law"
    assert bool(why_removal_waits(spec, "member1", works, alive, attention, at(110), at_once=True)) is held


FAILURES = DecisionConditions(toleration_seconds=60)


@pytest.mark.parametrize(
    ("cluster_mode", "application_mode", "at_once"),
    [
        (None, None, False),
        ("", None, False),
        ("Gracefully", "Gracefully", False),
        ("Gracefully", "Never", False),
        ("Directly", None, True),
        (None, "Directly", True),
        ("Directly", "Gracefully", True),
        ("Gracefully", "Directly", True),
    ],
)
def test_s1_what_may_not_run_beside_another_copy_or_runs_nothing_goes_at_once(
    cluster_mode: Any, application_mode: Any, *, at_once: bool
) -> None:
    failover = FailoverBehavior(
        application=ApplicationFailover(FAILURES, application_mode) if application_mode is not None else None,
        cluster=ClusterFailover(cluster_mode) if cluster_mode is not None else None,
    )
    for asked in (None, failover):
        bound = binding(duplicated("member1"), 3, failover=asked, replica_requirements=ReplicaRequirements())
        assert goes_at_once(bound) is (at_once and asked is not None)
    follows = msgspec.structs.replace(bound.metadata, annotations={VOLUMES_FOLLOW_ANNOTATION: "true"})
    assert goes_at_once(msgspec.structs.replace(bound, metadata=follows))
    secret = binding(duplicated("member1"), 0, failover=failover)
    resource = BindingResource("v1", "Secret", "web", "default")
    assert goes_at_once(msgspec.structs.replace(secret, spec=msgspec.structs.replace(secret.spec, resource=resource)))


def told_of(there: Cluster, kind: str) -> Cluster:
    """The cluster with a condition of this type that is True."""
    condition = Condition(kind, "True", "Test", last_transition_time=at(0))
    conditions = (*there.status.conditions, condition)
    return msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=conditions))


def leaving_fleet(there: Cluster) -> Cluster:
    return msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, deletion_timestamp=at(0)))


TAINTED = (Taint(NOT_READY_TAINT, "NoExecute"),)


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        (None, cluster("member1"), True),
        (cluster("member1"), None, True),
        (None, None, False),
        (cluster("member1"), cluster("member1", region="north"), False),
        (dead("member1"), dead("member1", since=60), False),
        (ready("member1", 0), ready("member1", 1), True),
        (cluster("member1"), dead("member1"), True),
        (cluster("member1", taints=TAINTED), cluster("member1"), True),
        (cluster("member1", "False", TAINTED), cluster("member1", taints=TAINTED), True),
        (cluster("member1"), told_of(cluster("member1"), FAILING_CONDITION), True),
        (cluster("member1"), told_of(cluster("member1"), NOT_OBSERVED_CONDITION), True),
        (dead("member1"), leaving_fleet(dead("member1")), True),
    ],
    ids=[
        "joins",
        "is gone",
        "neither",
        "a field beside it",
        "tainted later",
        "back since",
        "away",
        "clear",
        "Ready, tainted",
        "begins to fail",
        "nobody can look",
        "unjoined",
    ],
)
def test_l4_each_fact_of_a_cluster_that_holds_go_by_has_them_looked_at_again(
    old: Cluster | None, new: Cluster | None, *, may: bool
) -> None:
    assert may_change_holds(old, new) is may
    assert may_change_holds(new, old) is may


@pytest.mark.parametrize(
    ("there", "serving", "ready", "held"),
    [
        (dead("member1"), 4, 2, True),
        (cluster("member1"), 4, 1, True),
        (cluster("member1"), 3, 1, True),
        (cluster("member1"), 2, 1, False),
        (cluster("member1"), 4, 2, False),
        (leaving_fleet(dead("member1")), 4, 1, False),
        (None, 4, 1, False),
    ],
    ids=["away", "back, replacement lost", "serves less", "serves no more", "back, replaced", "unjoined", "not listed"],
)
def test_s1_a_copy_gives_up_replicas_where_it_is_seen_and_enough_surely_serves_without_them(
    there: Cluster | None, *, serving: int, ready: int, held: bool
) -> None:
    """A copy of 4 that is to have 2, beside another of 2. Nothing says since when that is so."""
    spec = binding(divided({"member1": 1, "member2": 1}), 4, targets(member1=2, member2=2)).spec
    works = {"member1": work("member1", serving), "member2": work("member2", ready)}
    alive = fleet(*filter(None, (there, cluster("member2"))))
    copies = copies_of(spec, works, alive, at(100), {"member1": 4})
    assert (held_scale_downs(copies, {"member1": 2}, alive) == {"member1"}) == held
    unwatched = copies_of(spec, works, alive, at(100), {"member1": 4}, watched=False)
    may_lose = serving > 2 and there is not None and there.metadata.deletion_timestamp is None
    assert (held_scale_downs(unwatched, {"member1": 2}, alive) == {"member1"}) == (may_lose or held)


def test_a_scale_down_asks_for_ready_replicas_of_the_others_and_not_that_they_are_whole() -> None:
    spec = binding(divided({"member1": 1, "member2": 1}), 4, targets(member1=2, member2=2)).spec
    larger = work("member2", 2)
    unhealthy = tuple(msgspec.structs.replace(each, health="Unhealthy") for each in larger.status.manifest_statuses)
    status = msgspec.structs.replace(larger.status, manifest_statuses=unhealthy)
    works = {"member1": work("member1", 4), "member2": msgspec.structs.replace(larger, status=status)}
    alive = fleet(cluster("member1"), cluster("member2"))
    copies = copies_of(spec, works, alive, at(100), {"member1": 4})
    assert not held_scale_downs(copies, {"member1": 2}, alive)


def test_a_scale_down_of_the_only_copy_waits_for_its_cluster_alone() -> None:
    spec = binding(divided({"member1": 1}), 2, targets(member1=2)).spec
    for there, held in ((dead("member1"), {"member1"}), (cluster("member1"), set[str]())):
        copies = copies_of(spec, {"member1": work("member1", 4)}, fleet(there), at(100), {"member1": 4})
        assert held_scale_downs(copies, {"member1": 2}, fleet(there)) == held


def test_s1_two_copies_that_shrink_never_rest_on_the_same_replicas() -> None:
    """A user scales 8 down to 4, and both shrink at once; of 6 that are asked for one of the two keeps its own."""
    works, alive = (
        {name: work(name, 4) for name in ("member1", "member2")},
        fleet(*map(cluster, ("member1", "member2"))),
    )
    sizes = {"member1": 4, "member2": 4}
    for asked, held in ((4, set[str]()), (6, {"member2"})):
        spec = binding(divided({"member1": 1, "member2": 1}), asked, targets(member1=2, member2=2)).spec
        copies = copies_of(spec, works, alive, at(100), sizes)
        assert held_scale_downs(copies, {"member1": 2, "member2": 2}, alive) == held


def test_an_override_that_leaves_fewer_replicas_is_not_missed() -> None:
    """A policy has member2 run 1 of the 2 that it is assigned."""
    spec = binding(divided({"member1": 1, "member2": 1}), 4, targets(member1=2, member2=2)).spec
    works, alive = (
        {"member1": work("member1", 4), "member2": work("member2", 1)},
        fleet(cluster("member1"), cluster("member2")),
    )
    for needs, held in (({}, {"member1"}), ({"member2": 1}, set[str]())):
        copies = copies_of(spec, works, alive, at(100), {"member1": 4}, needs)
        assert held_scale_downs(copies, {"member1": 2}, alive) == held


def test_a_binding_says_which_copies_are_not_scaled_down() -> None:
    told = removals_blocked({}, larger=["member1", "member3"])
    assert told is not None
    message = "Not scaled down in member1, member3, because the new copy is not healthy."
    assert (told.reason, told.message) == ("ReplacementLost", message)
