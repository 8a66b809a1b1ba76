"""A PodDisruptionBudget: which Pods it covers, and how many of them may go.

Kubernetes: pkg/controller/disruption. Same; only Deployments, ReplicaSets and StatefulSets say how many Pods they want.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kubeapi import codec
from kubeapi.meta import LabelSelector, Manifest, ReadOnlyManifest, parse_time
from kubeapi.selectors import matches, selector_of
from kubeapi.unstructured import list_at, mapping_at, value_at
from kubecluster.rules.conditions import put_condition
from kubecluster.rules.pods import is_leaving, is_ready
from kubecluster.rules.rolling import resolve_share

MAX_DISRUPTION = timedelta(minutes=2)
"""Time that an evicted Pod may take to be deleted before it counts as healthy again."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Numbers of Pods that there should be, and of healthy ones among them."""

    pods: int
    healthy: int


def covered(budget: ReadOnlyManifest, pods: Iterable[Manifest]) -> list[Manifest]:
    """Pods of its namespace that the budget is for. No selector matches nothing, an empty one everything."""
    wire = value_at(budget, "spec", "selector")
    if wire is None:
        return []
    selector = selector_of(codec.from_wire(wire, LabelSelector))
    return [pod for pod in pods if matches(selector, mapping_at(pod, "metadata", "labels"))]


def counts_wanted(budget: ReadOnlyManifest) -> bool:
    """Tells whether it matters how many Pods the owners want."""
    return value_at(budget, "spec", "maxUnavailable") is not None or isinstance(
        value_at(budget, "spec", "minAvailable"), str
    )


def expected_pods(budget: ReadOnlyManifest, pods: Sequence[ReadOnlyManifest], wanted: int) -> Expected:
    """`wanted`: by the owners of the Pods. Raises: ValueError."""
    unavailable, available = (value_at(budget, "spec", name) for name in ("maxUnavailable", "minAvailable"))
    if unavailable is not None:
        return Expected(wanted, max(0, wanted - resolve_share("maxUnavailable", unavailable, wanted)))
    if isinstance(available, str):
        return Expected(wanted, resolve_share("minAvailable", available, wanted))
    return Expected(len(pods), available or 0)


def disrupted_pods(budget: ReadOnlyManifest, pods: Iterable[ReadOnlyManifest], now: datetime) -> dict[str, str]:
    """The Pods that were evicted, are still to be deleted, and have had less time for that than they may have."""
    here = {pod["metadata"]["name"] for pod in pods if not is_leaving(pod)}
    noted = mapping_at(budget, "status", "disruptedPods")
    return {name: at for name, at in noted.items() if name in here and parse_time(at) + MAX_DISRUPTION > now}


def next_look(disrupted: Mapping[str, str]) -> datetime | None:
    return min((parse_time(at) + MAX_DISRUPTION for at in disrupted.values()), default=None)


def budget_status(
    budget: ReadOnlyManifest,
    pods: Sequence[ReadOnlyManifest],
    expected: Expected,
    disrupted: Mapping[str, str],
    now: datetime,
) -> Manifest:
    healthy = sum(is_ready(pod) and not is_leaving(pod) and pod["metadata"]["name"] not in disrupted for pod in pods)
    allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {
        **_verdict(budget, bool(allowed), reason, "", now),
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
        "disruptionsAllowed": allowed,
        **({"disruptedPods": dict(disrupted)} if disrupted else {}),
    }


def failed_status(budget: ReadOnlyManifest, why: str, now: datetime) -> Manifest:
    """Status of a budget that failed: nothing may go where it is not known how many have to stay."""
    verdict = _verdict(budget, False, "SyncFailed", why, now)
    return {**mapping_at(budget, "status"), **verdict, "disruptionsAllowed": 0}


def _verdict(budget: ReadOnlyManifest, allowed: bool, reason: str, message: str, now: datetime) -> dict[str, Any]:
    generation = budget["metadata"]["generation"]
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": generation,
        "reason": reason,
        "message": message,
    }
    conditions = put_condition(list_at(budget, "status", "conditions"), condition, now)
    return {"observedGeneration": generation, "conditions": conditions}
