"""Detection, taints and tolerations give the answers that Karmada's own code gave."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from kubeapi.codec import DecodeError, decode, from_wire, to_wire
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, set_condition
from leeward.api.policy import FailoverBehavior, Placement
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import ResourceBinding, ResourceBindingSpec
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods, decide_observed_ready
from leeward.core.cluster_health.ready_condition import HealthMemory, Thresholds, decide_ready
from leeward.core.eviction.due_evictions import decide_stay, purge_mode_of
from leeward.core.placement import PlacementSettings, Snapshot, decide
from leeward.core.placement.snapshot import authority_over
from tests import oracle
from tests.builders import fleet

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
    oracle.replay(oracle.load("taints", "needEviction"), _stay, _recorded_stay, differs=_unplaced, at_least=180)


def _unplaced(case: oracle.Case) -> oracle.Difference | None:
    if "error" not in case.expected:
        return None
    return oracle.Difference("the placement is the binding's own, and not read from an annotation", _goes_nowhere)


def _goes_nowhere(case: oracle.Case, _: dict[str, Any]) -> None:
    """A binding without a placement, whose only cluster this is, is evicted only where everything is, Directly."""
    given = case.given
    unplaced = ResourceBinding(
        metadata=ObjectMeta(name="web", namespace="default", generation=1),
        spec=from_wire({**WEB, "clusters": [{"name": "member1"}]}, ResourceBindingSpec),
    )
    settings = PlacementSettings(evict=given["enableNoExecuteTaintEviction"], purge_mode=_flag(given))
    known = fleet(_cluster(given["cluster"]))
    snapshot = Snapshot(unplaced, known, settings=settings, now=datetime.fromisoformat(given["now"]))
    decision = decide(snapshot)
    if settings.purge_mode is PurgeMode.DIRECTLY and decision.evicted:
        assert [task.purge_mode for task in decision.eviction_tasks] == ["Directly"]
        assert decide_stay(known["member1"].spec.taints, (), snapshot.now).is_over(snapshot.now)
    else:
        assert decision.eviction_tasks == ()
        assert [target.name for target in decision.clusters] == ["member1"]


WEB: dict[str, Any] = {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}


def _stay(case: oracle.Case) -> dict[str, Any]:
    """A cluster that is not known has no taints, and without the taint manager nobody asks for them."""
    given = case.given
    now = datetime.fromisoformat(given["now"])
    text = given.get("annotations", {}).get("policy.karmada.io/applied-placement", "")
    try:
        placement = decode(text.encode(), Placement)
    except DecodeError:
        placement = Placement()
    cluster = _cluster(given["cluster"]) if given.get("cluster") is not None else None
    settings = PlacementSettings(evict=given["enableNoExecuteTaintEviction"])
    asks = (
        cluster is not None
        and authority_over(ResourceBinding(spec=from_wire(WEB, ResourceBindingSpec)), settings).evicts
    )
    stay = decide_stay(cluster.spec.taints if cluster and asks else (), placement.cluster_tolerations, now)
    remaining = -1 if stay.due is None else 0 if stay.is_over(now) else int((stay.due - now).total_seconds())
    failover = from_wire(given["failover"], FailoverBehavior) if given.get("failover") else None
    mode = purge_mode_of(failover, _flag(given))
    return {"needEviction": stay.is_over(now), "tolerationSeconds": remaining, "purgeMode": mode}


def _flag(given: dict[str, Any]) -> PurgeMode:
    return PurgeMode.DIRECTLY if given["noExecuteTaintEvictionPurgeMode"] == "Directly" else PurgeMode.GRACEFULLY


def _cluster(wire: dict[str, Any]) -> Cluster:
    """The recorded clusters leave the sync mode empty, which the API does not allow."""
    return from_wire({**wire, "spec": {**wire["spec"], "syncMode": "Push"}}, Cluster)


def _recorded_stay(case: oracle.Case) -> dict[str, Any]:
    return {key: case.expected[key] for key in ("needEviction", "tolerationSeconds", "purgeMode")}


def test_conditions_bring_the_no_schedule_taints_that_karmada_gives() -> None:
    cases = oracle.load("taints", "taintClusterByCondition")
    oracle.replay(
        cases, _taints, lambda case: case.expected["taints"] or [], differs=_automatic_no_execute, at_least=120
    )


def _automatic_no_execute(case: oracle.Case) -> oracle.Difference | None:
    if not any(map(_is_automatic, case.given["cluster"]["spec"].get("taints") or [])):
        return None
    why = "NoExecute taints with these keys are this version's own, and leave with their cause"
    return oracle.Difference(why, _leaves_with_its_cause)


def _is_automatic(taint: dict[str, str]) -> bool:
    return taint["effect"] == "NoExecute" and taint["key"] in CAUSES


CAUSES = {"cluster.karmada.io/not-ready": "False", "cluster.karmada.io/unreachable": "Unknown"}
"""Status of `Ready` where a cluster has such a taint."""


def _leaves_with_its_cause(case: oracle.Case, got: list[dict[str, Any]]) -> None:
    """All other taints are Karmada's; these go where `Ready` is True, and get the key that it calls for elsewhere."""
    others = [taint for taint in got if not _is_automatic(taint)]
    assert others == [taint for taint in case.expected["taints"] if not _is_automatic(taint)]
    ready = [c["status"] for c in oracle.all_at(case.given, "cluster", "status", "conditions") if c["type"] == "Ready"]
    before = [taint for taint in case.given["cluster"]["spec"]["taints"] if _is_automatic(taint)]
    called_for = [key for key, status in CAUSES.items() if [status] == ready]
    if ready != ["True"]:
        wanted = [{**taint, "key": key} for taint in before for key in called_for or [taint["key"]]]
    else:
        wanted = []
    assert [taint for taint in got if _is_automatic(taint)] == wanted


def _taints(case: oracle.Case) -> list[dict[str, Any]]:
    cluster = _cluster(case.given["cluster"])
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
