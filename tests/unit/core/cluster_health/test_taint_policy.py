"""ClusterTaintPolicy: Karmada's answers, and who owns a taint that two controllers know."""

from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.codec import from_wire, to_wire
from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import (
    FAILING_CONDITION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
)
from leeward.api.policy import ClusterAffinity
from leeward.api.taint_policy import ClusterTaintPolicy, ClusterTaintPolicySpec, MatchCondition, PolicyTaint
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.taint_policy import (
    PolicyTaints,
    all_match,
    apply_policies,
    decide_policy_taints,
    follow_policies,
    is_condition_confirmed,
    policy_confirmation,
)
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from tests import oracle
from tests.builders import at, cluster

NOT_READY = "cluster.karmada.io/not-ready"
NO_EXECUTE = PolicyTaint(NOT_READY, "NoExecute")


def test_policies_taint_as_karmadas_do() -> None:
    oracle.replay(oracle.load("cluster_taint_policy"), _answer, _recorded, at_least=290)


def _answer(case: oracle.Case) -> dict[str, Any]:
    given = from_wire(case.given["cluster"], Cluster)
    policies = [from_wire(without_nulls(policy), ClusterTaintPolicy) for policy in case.given["policies"]]
    matches = [
        {
            "policy": policy.name,
            "addMatches": all_match(policy.spec.add_on_conditions, given.status.conditions),
            "removeMatches": all_match(policy.spec.remove_on_conditions, given.status.conditions),
        }
        for policy in policies
    ]
    taints = apply_policies(given, policies, datetime.fromisoformat(case.given["now"]))
    return {"matches": matches, "taints": to_wire(taints)}


def without_nulls(policy: dict[str, Any]) -> dict[str, Any]:
    """Go prints an empty list that is required as null, which the API does not admit."""
    for conditions in (policy["spec"].get("addOnConditions"), policy["spec"].get("removeOnConditions")):
        for condition in conditions or ():
            condition["statusValues"] = condition["statusValues"] or []
    return policy


def _recorded(case: oracle.Case) -> dict[str, Any]:
    return {"matches": case.expected["matches"] or [], "taints": case.expected["taints"] or []}


def policy(
    name: str = "p",
    add: tuple[str, ...] = (),
    remove: tuple[str, ...] = (),
    taints: tuple[PolicyTaint, ...] = (NO_EXECUTE,),
    created: float = 0,
    condition: str = "Ready",
    target: ClusterAffinity | None = None,
) -> ClusterTaintPolicy:
    """Adds when the condition's status is in `add`, removes when it is in `remove`."""
    return ClusterTaintPolicy(
        metadata=ObjectMeta(name=name, creation_timestamp=at(created)),
        spec=ClusterTaintPolicySpec(
            taints=taints,
            target_clusters=target,
            add_on_conditions=(MatchCondition(condition, "In", add),) if add else (),
            remove_on_conditions=(MatchCondition(condition, "In", remove),) if remove else (),
        ),
    )


def settle(subject: Cluster, *policies: ClusterTaintPolicy, seconds: float = 0) -> tuple[Cluster, int]:
    """Applies policies and the condition's taints in turn until neither changes anything; counts how often one did."""
    for writes in range(10):
        decision = decide_policy_taints(subject, policies, at(seconds))
        if decision.taints != subject.spec.taints or decision.owned != _owned(subject):
            subject = subject.with_taints(decision.taints, {POLICY_TAINTS_ANNOTATION: decision.owned or None})
            continue
        automatic = decide_taints(subject, at(seconds), last_seen=at(seconds), eviction_seconds=300)
        if automatic.taints == subject.spec.taints and not automatic.annotations:
            return subject, writes
        subject = subject.with_taints(automatic.taints, automatic.annotations)
    raise AssertionError("L5: the two never come to rest")


def _owned(subject: Cluster) -> str:
    return subject.metadata.annotations.get(POLICY_TAINTS_ANNOTATION, "")


def now_ready(subject: Cluster, status: str, seconds: float = 0) -> Cluster:
    conditions = (Condition("Ready", status, "Test", last_transition_time=at(seconds)),)
    return msgspec.structs.replace(subject, status=msgspec.structs.replace(subject.status, conditions=conditions))


def names(subject: Cluster) -> set[str]:
    return {str(taint).removeprefix("cluster.karmada.io/") for taint in subject.spec.taints}


def test_a_policy_may_bring_not_ready_no_execute_before_its_time_and_takes_it_away_itself() -> None:
    usual = policy(add=("False", "Unknown"), remove=("True",))
    lost, _ = settle(cluster("m", ready="False"), usual)
    assert names(lost) == {"not-ready:NoExecute", "not-ready:NoSchedule"}
    back, _ = settle(now_ready(lost, "True"), usual)
    assert names(back) == set()
    assert _owned(back) == ""


def test_a_policys_not_ready_taint_stays_while_the_cluster_is_unreachable() -> None:
    silent, writes = settle(cluster("m", ready="Unknown"), policy(add=("False", "Unknown")))
    assert names(silent) == {"not-ready:NoExecute", "unreachable:NoSchedule"}
    assert writes == 2


def test_a_policys_taint_outlives_the_outage_when_nothing_says_to_remove_it() -> None:
    lost, _ = settle(cluster("m", ready="False"), policy(add=("False",)))
    back, _ = settle(now_ready(lost, "True"), policy(add=("False",)))
    assert names(back) == {"not-ready:NoExecute"}
    assert settle(back) == (back, 0), "and when the policy is gone"


def test_l5_a_policy_on_a_ready_cluster_and_the_clusters_condition_come_to_rest() -> None:
    always, writes = settle(cluster("m"), policy(add=("True",)))
    assert names(always) == {"not-ready:NoExecute"}
    assert writes == 1


def test_l5_a_policy_does_not_remove_what_the_clusters_condition_has_set() -> None:
    no_schedule = policy(remove=("False",), taints=(PolicyTaint(NOT_READY, "NoSchedule"),))
    lost, writes = settle(cluster("m", ready="False"), no_schedule)
    assert names(lost) == {"not-ready:NoSchedule"}
    assert writes == 1


def test_l5_two_policies_that_contradict_each_other_come_to_rest() -> None:
    mine = (PolicyTaint("example.com/mine", "NoSchedule"),)
    remover = policy("a", remove=("True",), taints=mine, created=0)
    adder = policy("b", add=("True",), taints=mine, created=1)
    tainted, _ = settle(cluster("m"), remover, adder)
    assert names(tainted) == {"example.com/mine:NoSchedule"}
    assert settle(tainted, remover, adder, seconds=60) == (tainted, 0)


STATUSES = st.lists(st.sampled_from(("True", "False", "Unknown")), max_size=3, unique=True).map(tuple)
TAINTS = st.builds(
    PolicyTaint,
    key=st.sampled_from((NOT_READY, "cluster.karmada.io/unreachable", "example.com/mine")),
    effect=st.sampled_from(("NoSchedule", "NoExecute")),
)
POLICIES = st.builds(
    policy,
    name=st.sampled_from("abc"),
    add=STATUSES,
    remove=STATUSES,
    taints=st.lists(TAINTS, min_size=1, max_size=3).map(tuple),
    created=st.integers(0, 2),
)


@given(st.lists(POLICIES, max_size=4), st.lists(st.sampled_from(("True", "False", "Unknown")), max_size=5))
def test_l5_whatever_policies_say_and_conditions_do_both_writers_come_to_rest(
    policies: list[ClusterTaintPolicy], history: list[str]
) -> None:
    subject = cluster("m")
    for number, status in enumerate(history):
        seconds = 200 * number
        subject, _ = settle(now_ready(subject, status, seconds), *policies, seconds=seconds)
        assert settle(subject, *policies, seconds=seconds) == (subject, 0)
    healed, _ = settle(now_ready(subject, "True", 2_000), seconds=2_000)
    assert names(healed) <= {name.removeprefix("cluster.karmada.io/") for p in policies for name in _named(p)}, "L3"


def _named(subject: ClusterTaintPolicy) -> set[str]:
    return {f"{taint.key}:{taint.effect}" for taint in subject.spec.taints}


def test_an_automatic_taint_is_not_taken_over_by_a_policy_that_names_it() -> None:
    lost, _ = settle(now_ready(cluster("m"), "False"))
    late, _ = settle(lost, seconds=300)
    assert names(late) == {"not-ready:NoExecute", "not-ready:NoSchedule"}
    named, writes = settle(late, policy(add=("False",)), seconds=300)
    assert (names(named), writes) == (names(late), 0)
    assert names(settle(now_ready(named, "True"), policy(add=("False",)))[0]) == set()


def test_the_eviction_clock_of_an_outage_does_not_start_with_a_policys_earlier_taint() -> None:
    early = policy(add=("True", "False"), taints=(PolicyTaint(NOT_READY, "NoSchedule"),))
    tainted, _ = settle(cluster("m"), early)
    lost, _ = settle(now_ready(tainted, "False", 1_000), early, seconds=1_000)
    assert names(lost) == {"not-ready:NoSchedule"}
    due, _ = settle(lost, early, seconds=1_300)
    assert names(due) == {"not-ready:NoSchedule", "not-ready:NoExecute"}


def test_a_policy_removes_what_was_set_by_hand() -> None:
    by_hand = cluster("m", taints=(Taint("example.com/mine", "NoSchedule", "v"),))
    cleared, _ = settle(by_hand, policy(remove=("True",), taints=(PolicyTaint("example.com/mine", "NoSchedule"),)))
    assert names(cleared) == set()


def test_what_was_removed_by_hand_is_no_longer_the_policys() -> None:
    lost, _ = settle(cluster("m", ready="False"), policy(add=("False",)))
    bare = lost.with_taints((), {})
    assert _owned(settle(now_ready(bare, "True"))[0]) == ""


def test_other_clusters_are_left_alone() -> None:
    elsewhere = policy(add=("True",), target=ClusterAffinity(cluster_names=("other",)))
    assert settle(cluster("m"), elsewhere) == (cluster("m"), 0)


def test_s4_the_brake_holds_a_policys_no_execute_but_not_its_no_schedule() -> None:
    both = policy(add=("False",), taints=(NO_EXECUTE, PolicyTaint("example.com/lost", "NoSchedule")))
    held = decide_policy_taints(cluster("m", ready="False"), [both], at(0), hold_no_execute=True)
    assert [str(taint) for taint in held.taints] == ["example.com/lost:NoSchedule"]


def watched(ready: str, confirmed: str = "", policy: str = "", *, answers: bool = False) -> Cluster:
    there = cluster("m1", ready)
    marks = {OUTAGE_CONFIRMED_ANNOTATION: confirmed, POLICY_TAINTS_CONFIRMED_ANNOTATION: policy}
    metadata = msgspec.structs.replace(
        there.metadata, annotations={key: value for key, value in marks.items() if value}
    )
    doubt = (Condition(FAILING_CONDITION, "False", "ClusterReady", last_transition_time=at(0)),) if answers else ()
    status = msgspec.structs.replace(there.status, conditions=(*there.status.conditions, *doubt))
    return msgspec.structs.replace(there, metadata=metadata, status=status)


NOW, AWAY = Attention(heartbeat="one"), Attention(heartbeat="one", is_now=False)


@pytest.mark.parametrize(
    ("there", "attention", "expected"),
    [
        (watched("False"), UNKEPT, True),
        (watched("False"), NOW, False),
        (watched("False", "zero"), NOW, False),
        (watched("False", "one"), NOW, True),
        (watched("False", "one"), AWAY, False),
        (watched("False", "one", answers=True), NOW, False),
        (watched("True"), NOW, True),
        (watched("True"), AWAY, False),
    ],
)
def test_s13_a_policy_drives_out_for_conditions_that_were_seen_anew(
    there: Cluster, attention: Attention, *, expected: bool
) -> None:
    assert is_condition_confirmed(there, attention) is expected


@pytest.mark.parametrize(
    ("there", "owned", "attention", "confirmed", "expected"),
    [
        (watched("True"), "a:NoExecute", NOW, True, {POLICY_TAINTS_CONFIRMED_ANNOTATION: "one"}),
        (watched("True"), "b:NoSchedule,a:NoExecute", NOW, True, {POLICY_TAINTS_CONFIRMED_ANNOTATION: "one"}),
        (watched("True"), "a:NoExecute,b:NoSchedule", NOW, True, {POLICY_TAINTS_CONFIRMED_ANNOTATION: "one"}),
        (watched("True", policy="zero"), "a:NoExecute", NOW, True, {POLICY_TAINTS_CONFIRMED_ANNOTATION: "one"}),
        (watched("True", policy="one"), "a:NoExecute", NOW, True, {}),
        (watched("True"), "a:NoExecute", NOW, False, {}),
        (watched("True", policy="zero"), "a:NoExecute", NOW, False, {}),
        (watched("True"), "a:NoExecute", UNKEPT, True, {}),
        (watched("True"), "a:NoExecute", Attention(heartbeat=""), True, {}),
        (watched("True"), "b:NoSchedule", NOW, True, {}),
        (watched("True"), "", NOW, True, {}),
        (watched("True", policy="zero"), "", NOW, True, {POLICY_TAINTS_CONFIRMED_ANNOTATION: None}),
        (watched("True", policy="zero"), "b:NoSchedule", NOW, False, {POLICY_TAINTS_CONFIRMED_ANNOTATION: None}),
    ],
)
def test_s13_what_policies_drive_out_for_is_confirmed_once_for_each_heartbeat(
    there: Cluster, owned: str, attention: Attention, expected: dict[str, str | None], *, confirmed: bool
) -> None:
    assert policy_confirmation(there, PolicyTaints((), owned), attention, confirmed=confirmed) == expected


MINE = PolicyTaint("example.com/mine", "NoExecute")


@pytest.mark.parametrize(
    ("there", "attention", "braked", "added"),
    [
        (watched("False"), UNKEPT, False, True),
        (watched("False"), UNKEPT, True, False),
        (watched("True"), UNKEPT, True, True),
        (watched("False"), NOW, False, False),
        (watched("False", "one"), NOW, False, True),
        (watched("False", "one"), NOW, True, False),
    ],
    ids=["an outage", "S4", "the brake is for the dead", "S13", "it was seen", "seen, and S4"],
)
def test_a_policy_drives_out_where_nothing_holds_it(
    there: Cluster, attention: Attention, *, braked: bool, added: bool
) -> None:
    both = policy(add=("True", "False"), taints=(MINE, PolicyTaint("example.com/lost", "NoSchedule")))
    decision = follow_policies(there, [both], at(0), attention, braked=braked)
    taints = ["example.com/mine:NoExecute"] * added + ["example.com/lost:NoSchedule"]
    assert [str(taint) for taint in decision.taints] == taints
    assert [taint.time_added for taint in decision.taints] == [at(0)] * len(taints)
    confirmed = {POLICY_TAINTS_CONFIRMED_ANNOTATION: "one"} if added and attention is NOW else {}
    assert decision.annotations == {POLICY_TAINTS_ANNOTATION: ",".join(sorted(taints)), **confirmed}


def test_what_policies_have_said_already_is_not_written_again_and_goes_with_the_last() -> None:
    lost = policy(add=("True",), remove=("False",), taints=(MINE,))
    there = cluster("m").with_taints((), {})
    tainted = follow_policies(there, [lost], at(0), UNKEPT, braked=False)
    there = there.with_taints(tainted.taints, tainted.annotations)
    again = follow_policies(there, [lost], at(60), UNKEPT, braked=False)
    assert (again.taints, again.annotations) == (tainted.taints, {})
    gone = follow_policies(now_ready(there, "False"), [lost], at(60), UNKEPT, braked=False)
    assert (gone.taints, gone.annotations) == ((), {POLICY_TAINTS_ANNOTATION: None})
    bare = follow_policies(cluster("m"), [], at(60), UNKEPT, braked=False)
    assert (bare.taints, bare.annotations) == ((), {})


def test_an_operator_that_nobody_knows_matches_nothing() -> None:
    ready = (Condition("Ready", "True", "Test"),)
    assert all_match((MatchCondition("Ready", "In", ("True",)),), ready)
    unknown = msgspec.structs.replace(MatchCondition("Ready", "In", ("True",)), operator="Exists")
    assert not all_match((unknown,), ready)
