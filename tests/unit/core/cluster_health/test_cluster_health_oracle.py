"""Detection, taints and tolerations give the answers that Karmada's own code gave."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from kubeapi.codec import decode, from_wire, to_wire
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, set_condition
from leeward.api.policy import FailoverBehavior, Placement
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods, decide_observed_ready
from leeward.core.cluster_health.ready_condition import HealthMemory, Thresholds, decide_ready
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.eviction.purge_modes import PurgeMode, purge_mode_of
from tests import oracle

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def test_a_change_of_ready_counts_after_its_threshold_as_karmada_counts_it() -> None:
    oracle.replay(oracle.load("condition_cache"), _play, lambda case: case.expected["steps"], at_least=400)


def _play(case: oracle.Case) -> list[dict[str, str]]:
    given = case.given
    thresholds = Thresholds(given["failureThresholdSeconds"], given["successThresholdSeconds"])
    current = _ready(given["initialReady"]) if given["initialReady"] else None
    memory: HealthMemory | None = None
    now, answers = EPOCH, list[dict[str, str]]()
    for step in given["steps"]:
        now += timedelta(seconds=step["sleepSeconds"])
        if "delete" in step:
            memory = None
            answers.append({})
            continue
        observed = _ready(step["observed"])
        memory, returned = decide_ready(memory, observed, current, now, thresholds)
        answers.append({"returned": "observed" if returned is observed else "current", "status": returned.status})
        if given["feedback"]:
            current = returned
    return answers


def _ready(status: str) -> Condition:
    return Condition("Ready", status, "Test")


def test_a_stay_under_taints_ends_when_karmada_ends_it() -> None:
    oracle.replay(oracle.load("taints", "needEviction"), _stay, _recorded_stay, skip=_not_a_decision, at_least=150)


def _not_a_decision(case: oracle.Case) -> str | None:
    if "error" in case.expected or case.given.get("cluster") is None:
        return "the annotation or the cluster is missing: the caller does not ask then"
    if not case.given["enableNoExecuteTaintEviction"]:
        return "eviction is switched off: the caller does not ask then"
    return None


def _stay(case: oracle.Case) -> dict[str, Any]:
    given = case.given
    now = datetime.fromisoformat(given["now"])
    placement = decode(given["annotations"]["policy.karmada.io/applied-placement"].encode(), Placement)
    taints = from_wire(given["cluster"], Cluster).spec.taints if _valid(given["cluster"]) else ()
    stay = decide_stay(taints, placement.cluster_tolerations, now)
    remaining = -1 if stay.due is None else 0 if stay.is_over(now) else int((stay.due - now).total_seconds())
    failover = from_wire(given["failover"], FailoverBehavior) if given.get("failover") else None
    flag = PurgeMode.DIRECTLY if given["noExecuteTaintEvictionPurgeMode"] == "Directly" else PurgeMode.GRACEFULLY
    mode = purge_mode_of(failover, flag)
    return {"needEviction": stay.is_over(now), "tolerationSeconds": remaining, "purgeMode": mode}


def _valid(cluster: dict[str, Any]) -> bool:
    """The recorded clusters leave the sync mode empty, which the API does not allow."""
    cluster["spec"]["syncMode"] = "Push"
    return True


def _recorded_stay(case: oracle.Case) -> dict[str, Any]:
    return {key: case.expected[key] for key in ("needEviction", "tolerationSeconds", "purgeMode")}


def test_conditions_bring_the_no_schedule_taints_that_karmada_gives() -> None:
    cases = oracle.load("taints", "taintClusterByCondition")
    oracle.replay(cases, _taints, lambda case: case.expected["taints"] or [], skip=_automatic_no_execute, at_least=100)


def _automatic_no_execute(case: oracle.Case) -> str | None:
    automatic = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
    taints: list[dict[str, str]] = case.given["cluster"]["spec"].get("taints") or []
    found = any(t["effect"] == "NoExecute" and t["key"] in automatic for t in taints)
    return "NoExecute taints with these keys are this version's own, and leave with their cause" if found else None


def _taints(case: oracle.Case) -> list[dict[str, Any]]:
    _valid(case.given["cluster"])
    cluster = from_wire(case.given["cluster"], Cluster)
    now = datetime.fromisoformat(case.given["now"])
    decision = decide_taints(cluster, now, last_seen=now, eviction_seconds=300, failover=False)
    return to_wire(decision.taints)


def test_silence_makes_a_pull_cluster_unknown_when_it_does_in_karmada() -> None:
    cases = oracle.load("taints", "clusterHealthSequence")
    oracle.replay(cases, _listen, _recorded_conditions, differs=_old_lease, at_least=200)


def _listen(case: oracle.Case) -> list[Any]:
    """The conditions after each step: some silence, then perhaps a status or a lease.

    What is there at the first look is seen then; a status that says the same once more is no sign of life.
    """
    given = case.given
    cluster, now = from_wire(given["cluster"], Cluster), datetime.fromisoformat(given["start"])
    patience = MonitorGracePeriods(given["monitorGraceSeconds"], given["startupGraceSeconds"])
    last_seen, told = None if cluster.ready else now, list[list[Any]]()
    for step in given["steps"]:
        now += timedelta(seconds=step["sleepSeconds"])
        posted = Condition("Ready", step["postStatus"], "posted", "") if step.get("postStatus") else None
        heard = _with_condition(cluster, posted, now)
        if last_seen is None or heard != cluster or step.get("renewLease"):
            last_seen = now
        cluster = heard
        cluster = _with_condition(cluster, decide_observed_ready(cluster, last_seen, now, patience).condition, now)
        told.append(oracle.told([to_wire(each) for each in cluster.status.conditions]))
    return told


def _with_condition(cluster: Cluster, condition: Condition | None, now: datetime) -> Cluster:
    if condition is None:
        return cluster
    conditions = set_condition(cluster.status.conditions, condition, now)
    return replace(cluster, status=replace(cluster.status, conditions=conditions))


def _recorded_conditions(case: oracle.Case) -> list[Any]:
    return [oracle.told(step["conditions"] or []) for step in case.expected["steps"]]


def _old_lease(case: oracle.Case) -> oracle.Difference | None:
    """A status is posted when a lease has been renewed."""
    renewed = False
    for step in case.given["steps"]:
        renewed = renewed or bool(step.get("renewLease"))
        if renewed and step.get("postStatus"):
            return oracle.Difference("an old lease is no new sign of life after a change of the status", _is_silent)
    return None


def _is_silent(case: oracle.Case, answer: list[list[dict[str, Any]]]) -> None:
    """Unknown begins where nothing new was heard for longer than the grace period, and ends with a status."""
    silence, before = 0.0, ("", "")
    for step, conditions in zip(case.given["steps"], answer, strict=True):
        silence += step["sleepSeconds"]
        posted = (step["postStatus"], "posted") if step.get("postStatus") else before
        if posted != before or step.get("renewLease"):
            silence = 0.0
        after = (conditions[0]["status"], conditions[0]["reason"]) if conditions else ("", "")
        if after[0] == "Unknown":
            assert silence > case.given["monitorGraceSeconds"] or after == posted
        else:
            assert after == posted or before == ("", "")
        before = after
