"""Room for replicas, or sets of components, that the ResourceQuotas of a cluster leave in a namespace.

What is known of them is what their Works carry (the scopes) and report (limit and use). A quota that has not reported,
or has another scope than PriorityClass, says nothing; limits of what is no request of a replica do not count.

What was reserved for others in that namespace counts as used, until the quota reports it itself.

Karmada: pkg/estimator/server/framework/plugins/resourcequota; same, except that a quota without scopes counts. What is
assumed there is taken off what a quota reports, also when it reports it already.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.selectors import Requirement, matches
from kubeapi.untrusted import mapping_in, mappings_in, text_in, texts_in
from leeward.api.work import ComponentReplicaRequirements, Work
from leeward.core.amounts import Amounts, greatest, sum_amounts
from leeward.core.quota.usage import amounts_of, times
from leeward.core.scheduling.model import MAX_REPLICAS

PRIORITY_CLASS = "PriorityClass"
_REQUESTS = "requests."


Parts = Iterable[tuple[ComponentReplicaRequirements | None, int]]
"""Requirements, and how many replicas with each."""


@dataclass(frozen=True, slots=True)
class ReportedQuota:
    """A ResourceQuota in a cluster: what it limits to, and what is used of that, by its own report."""

    spec: Mapping[str, Any]
    hard: Amounts
    used: Amounts
    name: str = ""


QuotasByCluster = Mapping[str, tuple[ReportedQuota, ...]]
ReadQuotas = Callable[[str], QuotasByCluster]
"""Reads the quotas of a namespace, by cluster."""


def no_quotas(namespace: str) -> QuotasByCluster:
    return {}


def quota_namespace(work: Work) -> str:
    """The namespace of the ResourceQuota that the Work carries; empty when it carries something else."""
    manifest = _manifest(work)
    is_quota = (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", "ResourceQuota")
    return text_in(mapping_in(manifest, "metadata"), "namespace") if is_quota else ""


def reported_quota(work: Work) -> ReportedQuota | None:
    """None while it has not reported."""
    reports = work.status.manifest_statuses
    status = mapping_in({"status": reports[0].status}, "status") if reports else {}
    hard, used = (_amounts(status, field) for field in ("hard", "used"))
    return ReportedQuota(mapping_in(_manifest(work), "spec"), hard, used, work.name) if hard else None


def room_in_quotas(asked: Parts, quotas: Iterable[ReportedQuota]) -> int | None:
    """Number of times that all these parts fit, in the quota with the least room; None where no quota limits them."""
    parts = tuple(asked)
    return min((room for quota in quotas for room in _rooms(quota, _need(quota, parts))), default=None)


def with_reserved(now: ReportedQuota, before: Iterable[ReportedQuota], reserved: Parts) -> ReportedQuota:
    """The quota as it will be when all that was reserved since `before` is there; it may report some already."""
    used = next((quota.used for quota in before if quota.name == now.name), now.used)
    need = _need(now, reserved)
    taken = {name: need[asked] for name in now.used if (asked := name.removeprefix(_REQUESTS)) in need}
    return replace(now, used=greatest([now.used, sum_amounts([used, taken])])) if taken else now


def _need(quota: ReportedQuota, parts: Parts) -> Amounts:
    """Amounts that the parts take which the quota concerns."""
    return sum_amounts(times(each, count) for each, count in parts if each is not None and _concerns(quota.spec, each))


def _rooms(quota: ReportedQuota, asked: Amounts) -> Iterable[int]:
    """Number that fits, for each resource that is limited and asked for."""
    for name, limit in quota.hard.items():
        need = asked.get(name.removeprefix(_REQUESTS))
        if need is None or not need.value or name not in quota.used:
            continue
        free = max(Decimal(0), limit.value - quota.used[name].value)
        yield min(int(free // need.value), MAX_REPLICAS)


def _concerns(spec: Mapping[str, Any], requirements: ComponentReplicaRequirements) -> bool:
    """Tells whether all its scopes are those of these replicas."""
    scopes = texts_in(spec, "scopes")
    if any(scope != PRIORITY_CLASS for scope in scopes):
        return False
    name = requirements.priority_class_name
    expressions = list(mappings_in(mapping_in(spec, "scopeSelector"), "matchExpressions"))
    return (not scopes or bool(name)) and all(_selects(expression, name) for expression in expressions)


def _selects(expression: ReadOnlyManifest, priority_class: str) -> bool:
    if expression.get("scopeName") != PRIORITY_CLASS:
        return False
    wanted = Requirement(PRIORITY_CLASS, text_in(expression, "operator"), tuple(texts_in(expression, "values")))
    return matches((wanted,), {PRIORITY_CLASS: priority_class} if priority_class else {})


def _manifest(work: Work) -> ReadOnlyManifest:
    manifests = work.spec.workload.manifests
    return manifests[0] if manifests else {}


def _amounts(status: Mapping[str, Any], field: str) -> Amounts:
    told = mapping_in(status, field)
    return amounts_of({name: value for name, value in told.items() if isinstance(value, str | int | float)})
