"""Kyverno: ClusterPolicy and Policy."""

from collections.abc import Sequence

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import value_at
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.rules import Rules, Status
from leeward.core.interpreter.thirdparty.aggregation import fold_statuses, latest, reported, total_of
from leeward.core.interpreter.thirdparty.merged_conditions import has_condition, merge_conditions
from leeward.core.interpreter.thirdparty.reflection import reflected

_RULE_COUNTS = ("validate", "generate", "mutate", "verifyimages")


def _is_ready(manifest: ReadOnlyManifest) -> bool:
    """Older versions say so in a field, newer ones in a condition."""
    ready = value_at(manifest, "status", "ready")
    return ready is True or (ready is None and has_condition(manifest.get("status"), "Ready", ("Succeeded",)))


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem], latest_of: Sequence[str]) -> Status:
    status = fold_statuses(template, items, dict.fromkeys((*latest_of, "conditions"), latest))
    status.pop("conditions", None)
    counts = [value_at(each, "rulecount") for each in reported(items)]
    status["rulecount"] = {name: total_of(value_at(each, name) or 0 for each in counts) for name in _RULE_COUNTS}
    conditions = merge_conditions(items)
    return {**status, "conditions": conditions} if conditions else status


KINDS = {
    ("kyverno.io/v1", "ClusterPolicy"): Rules(
        reflect=lambda manifest: reflected(manifest, ("ready", "rulecount", "conditions")),
        is_healthy=_is_ready,
        aggregate=lambda template, items: _aggregate(template, items, ("ready",)),
    ),
    ("kyverno.io/v1", "Policy"): Rules(
        reflect=lambda manifest: reflected(manifest, ("ready", "rulecount", "conditions", "autogen")),
        is_healthy=_is_ready,
        aggregate=lambda template, items: _aggregate(template, items, ("ready", "autogen")),
    ),
}
