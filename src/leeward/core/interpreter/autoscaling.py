"""PodDisruptionBudget and HorizontalPodAutoscaler: what watches over replicas."""

from collections.abc import Sequence

from kubeapi.meta import ReadOnlyManifest
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.fields import int_at, mapping_at, pick, total
from leeward.core.interpreter.rules import Rules, Status

_BUDGET = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_AUTOSCALER = ("currentReplicas", "desiredReplicas")


def _reflect_budget(manifest: ReadOnlyManifest) -> Status:
    return pick(mapping_at(manifest, "status"), ("disruptedPods", *_BUDGET))


def _is_budget_kept(manifest: ReadOnlyManifest) -> bool:
    return int_at(manifest, "status", "currentHealthy") >= int_at(manifest, "status", "desiredHealthy")


def _aggregate_budget(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """The sums; a disrupted pod is named with its cluster."""
    disrupted = {
        f"{item.cluster_name}/{pod}": since
        for item in items
        for pod, since in mapping_at({"status": item.status}, "status", "disruptedPods").items()
    }
    return {**total(items, _BUDGET, required=_BUDGET), **({"disruptedPods": disrupted} if disrupted else {})}


def _reflect_autoscaler(manifest: ReadOnlyManifest) -> Status:
    return pick(mapping_at(manifest, "status"), _AUTOSCALER)


def _aggregate_autoscaler(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    return total(items, _AUTOSCALER, required=("desiredReplicas",))


POD_DISRUPTION_BUDGET = Rules(reflect=_reflect_budget, is_healthy=_is_budget_kept, aggregate=_aggregate_budget)
HORIZONTAL_POD_AUTOSCALER = Rules(reflect=_reflect_autoscaler, aggregate=_aggregate_autoscaler)
