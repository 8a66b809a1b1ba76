"""Cause, in people's words, why a binding finds no place: `The policy allows fra-2 only, and fra-2 is down.`

Everybody tells this sentence: the conditions Scheduled and EvictionHeld begin with it. So do events, `status`,
`explain`, `what-if`, the Outage and the page. The scheduler's own text follows as the detail.

It follows from the clusters' rejections. Of many clusters only numbers are told, so that it rarely changes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubeapi.toleration import untolerated_taint
from leeward.api.cluster import Cluster
from leeward.api.names import CONDITION_TAINT_KEYS, DRAIN_TAINT, FLAPPING_TAINT, UNSCHEDULABLE_TAINT
from leeward.api.policy import Placement
from leeward.api.work import ResourceBindingSpec
from leeward.core.cluster_health.brake import BRAKE_ENDS, looks_dead
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.quota.enforcement import EXCEEDED, quota_cause
from leeward.core.scheduling import Unplaceable
from leeward.core.scheduling.affinity import NOT_MATCHED, affinities_of, is_in_any_term
from leeward.core.scheduling.groups import groupings
from leeward.core.scheduling.spread_fields import is_over_clusters
from leeward.core.wording import listed, listed_by_reason

MOST_NAMED = 3
"""Clusters that are named; of more only the number is told."""
MOST_MATCHED = 500
"""Clusters times affinity terms that are compared."""
_TAINT = re.compile(r"untolerated taint \{(?P<taint>[^}]*)\}")
_NO_FIELD = re.compile(r"did not have (?P<field>\w+) property")
DOWN = "is down"
_BY_KEY = {
    **dict.fromkeys(CONDITION_TAINT_KEYS, DOWN),
    UNSCHEDULABLE_TAINT: "is cordoned",
    DRAIN_TAINT: "is being drained",
    FLAPPING_TAINT: "went up and down too often",
}
_SCHEDULERS = frozenset((HeldReason.NO_PLACE_TO_GO.value, "NoClusterFit", "Unschedulable", "SchedulerError"))
"""Reasons of conditions whose message ends with the scheduler's text."""
BRAKED = f"The brake stops evictions {BRAKE_ENDS}."


def cause_in(reason: str, message: str) -> str:
    """Cause alone, of a condition's message. The brake is one cause, whatever it keeps where."""
    if reason == HeldReason.BRAKE_ENGAGED:
        return BRAKED
    if reason == EXCEEDED:
        return quota_cause(message)
    cause, stop, _ = message.partition(". ")
    if reason not in _SCHEDULERS:
        return message
    return f"{cause}." if stop else message.partition("there is no place to go: ")[2] or message


def with_cause(result: Unplaceable, spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> Unplaceable:
    return result if result.cause else replace(result, cause=cause_of(result, spec, clusters))


def cause_of(result: Unplaceable, spec: ResourceBindingSpec, clusters: Mapping[str, Cluster], *, lost: str = "") -> str:
    """Sentence with a full stop, silent on the `lost` cluster; empty where the result's message is one already."""
    is_selected = result.message.startswith("failed to select clusters")
    if result.kind not in ("FitError", "UnschedulableError") and not is_selected:
        return ""
    allowed = _allowed(result, spec, clusters)
    lacks_groups = "MinGroups" in result.message
    passing = "cannot take the copy now" if result.kind == "FitError" else "has too little free capacity"
    reasons = {name: _reason(name, result, spec, clusters) or ("" if lacks_groups else passing) for name in allowed}
    refused = {name: reason for name, reason in reasons.items() if reason and (name != lost or len(reasons) == 1)}
    if lacks_groups and (wanted := _least(spec, [clusters[name] for name, reason in reasons.items() if not reason])):
        why = ", and ".join(listed_by_reason(refused, MOST_NAMED))
        return f"The policy wants at least {wanted}{', because ' if why else ''}{why}."
    return f"{_subject(result, spec, clusters, allowed, refused)}."


def _subject(
    result: Unplaceable,
    spec: ResourceBindingSpec,
    clusters: Mapping[str, Cluster],
    allowed: Sequence[str],
    refused: Mapping[str, str],
) -> str:
    why = ", and ".join(listed_by_reason(refused, MOST_NAMED))
    if not clusters:
        return "No cluster has joined"
    if not allowed:
        return "The policy matches no cluster that has joined"
    if len(allowed) == len(clusters) and not _named(spec):
        begins = "No cluster fits" if result.kind == "FitError" else "No room for all replicas"
        return f"{begins}, because {why}"
    many = len(allowed) > MOST_NAMED
    only = f"{len(allowed)} of {len(clusters)} clusters" if many else f"{listed(allowed)} only"
    return f"The policy allows {only}, and {why}"


def _allowed(result: Unplaceable, spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> list[str]:
    """Clusters that an affinity term lets in, and names in it that have not joined."""
    affinities, named = affinities_of(spec.placement), _named(spec)
    if not affinities:
        return sorted(clusters)
    outside = {name for name, reason in result.rejected.items() if reason == NOT_MATCHED}
    if all(affinity.cluster_names for affinity in affinities):
        inside = [*(named & clusters.keys())]
    else:
        inside = [name for name in clusters if len(affinities) > 1 or name not in outside]
    if len(inside) * len(affinities) <= MOST_MATCHED:
        inside = [name for name in inside if is_in_any_term(spec, clusters.get(name))]
    return sorted({*inside} | (named - clusters.keys()))


def _named(spec: ResourceBindingSpec) -> set[str]:
    return {name for affinity in affinities_of(spec.placement) for name in affinity.cluster_names}


def _reason(name: str, result: Unplaceable, spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> str:
    """Reason why the cluster does not take it, as a verb; empty where none is known."""
    cluster = clusters.get(name)
    if cluster is None:
        return "has not joined"
    if cluster.is_being_deleted:
        return "is being unjoined"
    taint = untolerated_taint(cluster.taints, (spec.placement or Placement()).cluster_tolerations)
    said = result.rejected.get(name, "")
    if looks_dead(cluster) or (taint is not None and taint.key in CONDITION_TAINT_KEYS):
        return DOWN
    if taint is not None and (not said or _TAINT.search(said)):
        return _BY_KEY.get(taint.key, f"has the taint {taint}")
    if any(task.from_cluster == name for task in spec.graceful_eviction_tasks):
        return "has an eviction under way"
    if "did not have the API resource" in said:
        return f"does not serve the kind {spec.resource.kind}"
    if found := _NO_FIELD.search(said):
        return f"has no {found['field']}"
    return said.removeprefix("cluster(s) ") if said != NOT_MATCHED else ""


def _least(spec: ResourceBindingSpec, passing: Sequence[Cluster]) -> str:
    """`2 clusters, and only fra-1 fits`, of the first spread constraint that is not met."""
    constraints = (spec.placement or Placement()).spread_constraints
    counted = [
        ("cluster", each, {cluster.name for cluster in passing}) for each in constraints if is_over_clusters(each)
    ]
    counted += [
        (group.title.removeprefix("label "), group.constraint, {v for c in passing for v in group.values(c) if v})
        for group in groupings(constraints)
    ]
    for title, constraint, there in counted:
        if len(there) < constraint.min_groups:
            number = f"{constraint.min_groups} {title}{'' if constraint.min_groups == 1 else 's'}"
            only = f"only {listed(sorted(there)) if len(there) <= MOST_NAMED else len(there)}" if there else "none"
            return f"{number}, and {only} {'fits' if len(there) < 2 else 'fit'}"
    return ""
