"""Copies that must leave a cluster by its taints, when, and taints that do not count yet."""

import msgspec
import pytest

from kubeapi.core import Taint, Toleration
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import (
    FAILING_CONDITION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
)
from leeward.api.policy import ClusterFailover, FailoverBehavior
from leeward.api.purge_mode import PurgeMode
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, Gap, WatchedTime
from leeward.core.eviction.due_evictions import (
    DueEvictions,
    Eviction,
    Stay,
    decide_stay,
    due_evictions,
    last_resort_at,
    may_evict,
    purge_mode_of,
    replicas_in,
)
from tests.builders import at, binding, cluster, dead, divided, fleet, targets

NOT_READY = Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(0))
UNREACHABLE = Taint("cluster.karmada.io/unreachable", "NoExecute", time_added=at(50))
BY_HAND = Taint("example.com/maintenance", "NoExecute", time_added=at(0))
BY_POLICY = Taint("example.com/flooded", "NoExecute", time_added=at(0))
CORDON = Taint("example.com/cordon", "NoSchedule", time_added=at(0))


def tolerate(taint: Taint, seconds: int | None = None) -> Toleration:
    return Toleration(key=taint.key, operator="Exists", effect=taint.effect, toleration_seconds=seconds)


ANY = Toleration(operator="Exists", toleration_seconds=20)


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        ((), (), Stay(None)),
        ((CORDON,), (), Stay(None)),
        ((NOT_READY,), (), Stay(at(99), (NOT_READY,))),
        ((NOT_READY, CORDON, BY_HAND), (tolerate(NOT_READY),), Stay(at(99), (BY_HAND,))),
        ((BY_HAND, NOT_READY, BY_POLICY), (tolerate(NOT_READY),), Stay(at(99), (BY_HAND, BY_POLICY))),
        ((NOT_READY,), (tolerate(NOT_READY),), Stay(None)),
        ((NOT_READY,), (tolerate(NOT_READY, 300),), Stay(at(300), (NOT_READY,))),
        ((NOT_READY,), (tolerate(NOT_READY, 0),), Stay(at(0), (NOT_READY,))),
        ((NOT_READY,), (tolerate(NOT_READY, 2**63 - 1),), Stay(at(10**10), (NOT_READY,))),
        ((NOT_READY,), (tolerate(NOT_READY, -(2**63)),), Stay(at(-(10**10)), (NOT_READY,))),
        ((NOT_READY, UNREACHABLE), (tolerate(NOT_READY, 300), tolerate(UNREACHABLE, 100)),
         Stay(at(150), (UNREACHABLE,))),
        ((NOT_READY, UNREACHABLE), (tolerate(NOT_READY, 300), tolerate(UNREACHABLE, 250)),
         Stay(at(300), (NOT_READY, UNREACHABLE))),
        ((NOT_READY, UNREACHABLE), (tolerate(NOT_READY, 300), ANY), Stay(at(20), (NOT_READY,))),
        ((NOT_READY,), (tolerate(NOT_READY), ANY), Stay(None)),
        ((msgspec.structs.replace(NOT_READY, time_added=None),), (tolerate(NOT_READY, 300),), Stay(None)),
    ],
    ids=[
        "no taint", "none that drives out", "untolerated", "one is untolerated", "two are", "for ever", "for a while",
        "for no time", "the largest number", "the smallest", "the earliest of two", "both at once",
        "a toleration that is used counts for all",
        "one that is not used counts for none", "nobody knows since when",
    ],
)  # fmt: skip
def test_a_stay_ends_with_the_first_toleration_that_runs_out(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], expected: Stay
) -> None:
    assert decide_stay(taints, tolerations, at(99)) == expected


def test_s13_a_toleration_runs_over_watched_time() -> None:
    missed = WatchedTime((Gap(at(100), at(160)),))
    assert decide_stay((NOT_READY,), (tolerate(NOT_READY, 300),), at(99), missed).due == at(360)


@pytest.mark.parametrize(("seconds", "over"), [(299, False), (300, True), (301, True)])
def test_a_stay_is_over_at_its_instant(seconds: float, *, over: bool) -> None:
    assert Stay(at(300)).is_over(at(seconds)) is over
    assert not Stay(None).is_over(at(seconds))


HEARTBEAT = Attention(heartbeat="one")
AWAY = Attention(heartbeat="one", is_now=False)


def tainted(
    name: str,
    *taints: Taint,
    ready: str = "False",
    outage: str = "one",
    policy: str = "one",
    answers: bool = False,
) -> Cluster:
    there = cluster(name, ready, taints=taints)
    annotations = {
        POLICY_TAINTS_ANNOTATION: "example.com/flooded:NoExecute",
        OUTAGE_CONFIRMED_ANNOTATION: outage,
        POLICY_TAINTS_CONFIRMED_ANNOTATION: policy,
    }
    doubt = (Condition(FAILING_CONDITION, "False", "ClusterReady", last_transition_time=at(0)),) if answers else ()
    status = msgspec.structs.replace(there.status, conditions=(*there.status.conditions, *doubt))
    metadata = msgspec.structs.replace(there.metadata, annotations=annotations)
    return msgspec.structs.replace(there, metadata=metadata, status=status)


@pytest.mark.parametrize(
    ("taint", "there", "attention", "expected"),
    [
        (NOT_READY, tainted("m1"), HEARTBEAT, True),
        (NOT_READY, tainted("m1", outage="zero"), HEARTBEAT, False),
        (NOT_READY, tainted("m1", outage="zero"), UNKEPT, True),
        (NOT_READY, tainted("m1"), AWAY, False),
        (NOT_READY, tainted("m1", ready="True"), HEARTBEAT, False),
        (NOT_READY, tainted("m1", answers=True), HEARTBEAT, False),
        (BY_POLICY, tainted("m1", outage="zero"), HEARTBEAT, True),
        (BY_POLICY, tainted("m1", policy="zero"), HEARTBEAT, False),
        (BY_POLICY, tainted("m1", ready="True"), HEARTBEAT, True),
        (BY_POLICY, tainted("m1", answers=True), HEARTBEAT, False),
        (BY_HAND, tainted("m1", ready="True", outage="zero", policy="zero"), AWAY, True),
        (CORDON, tainted("m1", outage="zero", policy="zero"), AWAY, True),
        (msgspec.structs.replace(NOT_READY, effect="NoSchedule"), tainted("m1", outage="zero"), AWAY, True),
    ],
    ids=[
        "confirmed", "by an earlier process", "nobody keeps a heartbeat", "nobody looks now", "it is back",
        "it answers again", "a policy's own", "not found right again", "on a cluster that lives", "that answers again",
        "by hand", "it drives nobody out", "nor does this",
    ],
)  # fmt: skip
def test_s13_a_judgement_counts_once_it_was_made_anew_and_a_persons_wish_at_once(
    taint: Taint, there: Cluster, attention: Attention, *, expected: bool
) -> None:
    assert may_evict(taint, there, attention) is expected


SHARES = divided({"m1": 1, "m2": 1, "m3": 1, "m4": 1})


def due(*clusters: Cluster, seconds: float = 300, attention: Attention = UNKEPT) -> DueEvictions:
    spec = binding(SHARES, 4, targets(gone=1, m1=1, m2=1, m3=1)).spec
    return due_evictions(spec, fleet(*clusters), at(seconds), attention)


def test_targets_leave_when_their_stay_is_over_and_the_next_instant_is_that_of_the_others() -> None:
    assert due(cluster("m1"), cluster("m2")) == DueEvictions()
    found = due(dead("m1"), dead("m2", since=100), dead("m3", since=60), dead("m4"))
    assert found == DueEvictions((Eviction("m1", (dead("m1").spec.taints[1],)),), at(360))
    assert due(dead("m1"), seconds=299) == DueEvictions(next_due=at(300))
    assert [e.cluster for e in due(tainted("m1", BY_HAND), tainted("m2", BY_HAND), seconds=0).due] == ["m1", "m2"]


def test_without_a_placement_nothing_is_tolerated() -> None:
    spec = msgspec.structs.replace(binding(SHARES, 1, targets(m1=1)).spec, placement=None)
    assert [e.cluster for e in due_evictions(spec, fleet(dead("m1")), at(0)).due] == ["m1"]


def test_s13_what_would_leave_but_for_what_was_not_seen_anew_is_told() -> None:
    unseen = tainted("m1", NOT_READY, outage="zero")
    assert due(unseen, tainted("m2", NOT_READY), attention=HEARTBEAT) == DueEvictions(
        (Eviction("m2", (NOT_READY,)),), None, (Eviction("m1", (NOT_READY,)),)
    )
    assert due(unseen, seconds=200, attention=HEARTBEAT) == DueEvictions(next_due=at(300))
    both = tainted("m1", NOT_READY, BY_HAND, outage="zero")
    assert due(both, attention=HEARTBEAT) == DueEvictions((Eviction("m1", (BY_HAND,)),))
    unknown = tainted("m1", msgspec.structs.replace(BY_HAND, key="x"), BY_POLICY, policy="zero")
    assert due(unknown, attention=HEARTBEAT).due[0].taints[0].key == "x"


def test_s13_stays_run_over_watched_time_whether_they_count_or_not() -> None:
    missed = WatchedTime((Gap(at(100), at(160)),))
    for confirmed in ("one", "zero"):
        attention = Attention(missed, heartbeat="one")
        there = tainted("m1", NOT_READY, outage=confirmed)
        assert due(there, seconds=359, attention=attention) == DueEvictions(next_due=at(360))
    assert due(tainted("m1", NOT_READY), seconds=360, attention=Attention(missed, heartbeat="one")).due


def test_s13_what_nothing_tolerates_and_nobody_has_confirmed_is_over_now() -> None:
    there = tainted("m1", BY_POLICY, policy="zero")
    assert due(there, attention=HEARTBEAT) == DueEvictions(unconfirmed=(Eviction("m1", (BY_POLICY,)),))


@pytest.mark.parametrize(
    ("evictions", "expected"),
    [
        ((Eviction("m1", (NOT_READY,)),), 1_800),
        ((Eviction("m1", (UNREACHABLE, NOT_READY)),), 1_800),
        ((Eviction("m1", (NOT_READY,)), Eviction("m2", (UNREACHABLE,))), 1_850),
        ((Eviction("m1", (Taint("x", "NoExecute"),)),), 1_900),
        ((Eviction("m1"),), 1_900),
        ((), 1_900),
    ],
)
def test_c1_the_last_resort_is_open_half_an_hour_after_the_last_of_them_was_tainted(
    evictions: tuple[Eviction, ...], expected: float
) -> None:
    assert last_resort_at(evictions, at(100)) == at(expected)


@pytest.mark.parametrize(
    ("failover", "default", "expected"),
    [
        (None, PurgeMode.DIRECTLY, PurgeMode.DIRECTLY),
        (None, PurgeMode.GRACEFULLY, PurgeMode.GRACEFULLY),
        (FailoverBehavior(), PurgeMode.DIRECTLY, PurgeMode.DIRECTLY),
        (FailoverBehavior(cluster=ClusterFailover("Directly")), PurgeMode.GRACEFULLY, PurgeMode.DIRECTLY),
        (FailoverBehavior(cluster=ClusterFailover("Gracefully")), PurgeMode.DIRECTLY, PurgeMode.GRACEFULLY),
        (FailoverBehavior(cluster=ClusterFailover("")), PurgeMode.DIRECTLY, PurgeMode.GRACEFULLY),
    ],
)
def test_the_policys_word_on_purging_comes_before_the_flags(
    failover: FailoverBehavior | None, default: PurgeMode, expected: PurgeMode
) -> None:
    assert purge_mode_of(failover, default) is expected


def test_an_eviction_names_its_cause() -> None:
    assert Eviction("m1", (NOT_READY, BY_HAND)).cause == (
        "which has the taint cluster.karmada.io/not-ready:NoExecute, example.com/maintenance:NoExecute"
    )
    assert Eviction("m1").cause == "where the copy has failed"
    assert Eviction("m1", why="which takes nothing").cause == "which takes nothing"


def test_replicas_are_those_of_the_target() -> None:
    spec = binding(SHARES, 4, targets(m1=1, m2=3)).spec
    assert [replicas_in(spec, name) for name in ("m1", "m2", "m3")] == [1, 3, 0]
