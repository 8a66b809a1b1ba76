"""The taints that ClusterTaintPolicy objects give to a cluster, and take from it, as its conditions change.

Policies act in the order of their creation; each adds first and removes then. A taint is known by key and effect. It
stays when its policy is deleted.

A policy may name one of the four automatic taints (`cluster.karmada.io/not-ready:NoExecute`, ...), which the condition
calls for, too. Each taint has one owner (L5). The annotation `leeward.dev/policy-taints` lists those of policies:

    listed      it comes and goes by policies alone; the cluster's condition leaves it in place
    not listed  the four come and go by the cluster's condition alone; a policy neither removes nor takes them over

All other taints, set by hand or not, a policy may remove.

A taint that somebody has taken off comes back as long as a policy adds it, with the time that it had
(`standing_taints.py`).

Karmada: pkg/controllers/taint; same, proven by its recorded cases, but for this ownership. Holds: S9, L5.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kubeapi.core import Taint
from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import OUTAGE_CONFIRMED_ANNOTATION, POLICY_TAINTS_ANNOTATION, POLICY_TAINTS_CONFIRMED_ANNOTATION
from leeward.api.taint_policy import ClusterTaintPolicy, MatchCondition, PolicyTaint
from leeward.api.taint_record import NO_RECORD, TaintRecord, dated_by
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import (
    CONDITION_TAINTS,
    NO_EXECUTE,
    TaintDecision,
    TaintKey,
    key_of,
    policy_taints,
)
from leeward.core.cluster_health.pending_condition import is_recovering
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.scheduling.cluster_matching import cluster_matches

_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PolicyTaints:
    """Taints that the cluster is to have, and its annotation `leeward.dev/policy-taints` (empty: none)."""

    taints: tuple[Taint, ...]
    owned: str


def decide_policy_taints(
    cluster: Cluster,
    policies: Iterable[ClusterTaintPolicy],
    now: datetime,
    *,
    hold_no_execute: bool = False,
    record: TaintRecord = NO_RECORD,
) -> PolicyTaints:
    """All policies on one cluster. With `hold_no_execute` (the brake) no NoExecute taint is added that is not in
    `record`: those come back with the time that they had."""
    before = cluster.spec.taints
    owned = policy_taints(cluster)
    reserved = {key_of(t) for t in before if key_of(t) in CONDITION_TAINTS and key_of(t) not in owned}
    taints = apply_policies(cluster, policies, now, reserved, hold_no_execute=hold_no_execute, record=record)
    if _without_times(taints) == _without_times(before):
        taints = before
    present, known = {key_of(t) for t in taints}, {key_of(t) for t in before}
    named = sorted(f"{key}:{effect}" for key, effect in (owned | (present - known)) & present)
    return PolicyTaints(taints, ",".join(named))


def apply_policies(
    cluster: Cluster,
    policies: Iterable[ClusterTaintPolicy],
    now: datetime,
    reserved: Collection[TaintKey] = (),
    *,
    hold_no_execute: bool = False,
    record: TaintRecord = NO_RECORD,
) -> tuple[Taint, ...]:
    """The cluster's taints after each policy in turn; those in `reserved` are not removed."""
    taints = cluster.spec.taints
    for policy in sorted(policies, key=lambda each: (each.metadata.creation_timestamp or _FIRST, each.name)):
        spec = policy.spec
        if spec.target_clusters is not None and not cluster_matches(cluster, spec.target_clusters):
            continue
        if all_match(spec.add_on_conditions, cluster.status.conditions):
            taints = _add(taints, spec.taints, now, record, hold_no_execute=hold_no_execute)
        if all_match(spec.remove_on_conditions, cluster.status.conditions):
            removed = {(t.key, t.effect) for t in spec.taints} - set(reserved)
            taints = tuple(t for t in taints if key_of(t) not in removed)
    return taints


def all_match(wanted: Sequence[MatchCondition], conditions: Sequence[Condition]) -> bool:
    """Tells whether there are any, and each is present with a status as wanted."""
    return bool(wanted) and all(_matches(each, conditions) for each in wanted)


def _matches(wanted: MatchCondition, conditions: Sequence[Condition]) -> bool:
    found = find_condition(conditions, wanted.condition_type)
    match wanted.operator:
        case "In":
            return found is not None and found.status in wanted.status_values
        case "NotIn":
            return found is not None and found.status not in wanted.status_values
        case _:
            return False


def _add(
    taints: tuple[Taint, ...],
    added: Iterable[PolicyTaint],
    now: datetime,
    record: TaintRecord,
    *,
    hold_no_execute: bool,
) -> tuple[Taint, ...]:
    for new in added:
        if any(key_of(taint) == (new.key, new.effect) for taint in taints):
            continue
        recorded = record.find((new.key, new.effect), by_policy=True)
        if recorded is None and hold_no_execute and new.effect == NO_EXECUTE:
            continue
        taint = Taint(key=new.key, effect=new.effect, value=new.value, time_added=wire_time(now))
        taints = (*taints, taint if recorded is None else dated_by(taint, recorded.time_added))
    return taints


def _without_times(taints: Iterable[Taint]) -> set[tuple[str, str, str]]:
    """Key, effect and value, by which taints are compared: a taint that one policy removes and a later one adds again
    has not changed."""
    return {(t.key, t.effect, t.value) for t in taints}


def follow_policies(
    cluster: Cluster,
    policies: Iterable[ClusterTaintPolicy],
    now: datetime,
    attention: Attention,
    *,
    braked: bool,
    record: TaintRecord = NO_RECORD,
) -> TaintDecision:
    """The taints that policies leave on a cluster, and the annotations that change with them.

    No NoExecute taint is added on a cluster that looks dead while the brake holds, nor for a condition that is not
    confirmed. Holds: S4, S13.
    """
    confirmed = is_condition_confirmed(cluster, attention)
    held = not confirmed or (braked and looks_dead(cluster))
    decision = decide_policy_taints(cluster, policies, now, hold_no_execute=held, record=record)
    annotations = dict(policy_confirmation(cluster, decision, attention, confirmed=confirmed))
    if decision.owned != cluster.metadata.annotations.get(POLICY_TAINTS_ANNOTATION, ""):
        annotations[POLICY_TAINTS_ANNOTATION] = decision.owned or None
    return TaintDecision(decision.taints, annotations)


def is_condition_confirmed(cluster: Cluster, attention: Attention) -> bool:
    """Tells whether NoExecute may follow from the cluster's conditions: an outage must be seen since the heartbeat
    began.

    Other conditions are read anew by whoever asks. Holds: S13.
    """
    if not attention.is_kept:
        return True
    seen = cluster.metadata.annotations.get(OUTAGE_CONFIRMED_ANNOTATION) == attention.heartbeat
    return attention.is_now and not is_recovering(cluster) and (seen or not looks_dead(cluster))


def policy_confirmation(
    cluster: Cluster, decision: PolicyTaints, attention: Attention, *, confirmed: bool
) -> Mapping[str, str | None]:
    """The change of the annotation that says that the NoExecute taints by policies were found right. Holds: S13."""
    present = cluster.metadata.annotations.get(POLICY_TAINTS_CONFIRMED_ANNOTATION)
    if not any(entry.endswith(f":{NO_EXECUTE}") for entry in decision.owned.split(",")):
        return {} if present is None else {POLICY_TAINTS_CONFIRMED_ANNOTATION: None}
    if not attention.heartbeat or not confirmed or present == attention.heartbeat:
        return {}
    return {POLICY_TAINTS_CONFIRMED_ANNOTATION: attention.heartbeat}
