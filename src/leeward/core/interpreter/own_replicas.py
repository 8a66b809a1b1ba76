"""Replicas that a member's object asks for by itself: an autoscaler there decides them, and no Work writes them.

A Work's status tells the number beside the fields of its kind, also where another number of Pods is there. Karmada's
agent does not tell it, nor does Karmada-exact mode.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from kubeapi.unstructured import value_at
from leeward.api.meta import find_condition
from leeward.api.names import REFLECTED_CONDITION, RETAIN_REPLICAS_LABEL
from leeward.api.work import ManifestStatus, Work, WorkStatus
from leeward.core.interpreter.plausible import plausible_count
from leeward.core.interpreter.resource_health import ResourceHealth, health_rules_in

OWN_REPLICAS = "leeward.dev/replicas"


def with_own_replicas(status: Any, observed: ReadOnlyManifest) -> Any:
    """Status of an object. One that keeps its own replicas, or has others, tells the number that it asks for."""
    own = plausible_count(value_at(observed, "spec", "replicas"))
    if not own or not isinstance(status, dict):
        return status
    fields = cast(Manifest, status)
    is_told = labels_of(observed).get(RETAIN_REPLICAS_LABEL) != "true" and fields.get("replicas", own) == own
    return fields if is_told else {**fields, OWN_REPLICAS: own}


def own_replicas(status: ManifestStatus) -> int:
    """Number of replicas that the member's object asks for by itself; 0 where it is not told."""
    return plausible_count(_fields(status).get(OWN_REPLICAS))


def told_to_run(work: Work | None) -> int:
    """Number of replicas that the member's object asks for, whoever decides it; 0 where that is not told, as of other
    kinds. Karmada's agent tells it of a copy that is Healthy."""
    found = work.status if work is not None else WorkStatus()
    is_ours = find_condition(found.conditions, REFLECTED_CONDITION) is not None
    told = [each for each in found.manifest_statuses if is_ours or health_rules_in(each).is_well]
    return min((own_replicas(each) or plausible_count(_fields(each).get("replicas")) for each in told), default=0)


def has_outgrown(work: Work, replicas: int) -> bool:
    """Tells whether a copy serves all the `replicas` that it is assigned, and misses only those that its own cluster
    asks for beyond them. In a rollout nobody knows which Pods are ready."""
    statuses = work.status.manifest_statuses
    return bool(statuses) and all(_has_outgrown(status, replicas) for status in statuses)


def as_assigned(status: ManifestStatus, replicas: int) -> ManifestStatus:
    """Report that is Healthy where it `has_outgrown` these replicas; any other as it is."""
    healthy = ResourceHealth.HEALTHY.value
    return msgspec.structs.replace(status, health=healthy) if _has_outgrown(status, replicas) else status


def _has_outgrown(status: ManifestStatus, replicas: int) -> bool:
    names = ("readyReplicas", "replicas", "updatedReplicas", "generation", "observedGeneration")
    ready, there, updated, generation, observed = (plausible_count(_fields(status).get(name)) for name in names)
    return there == updated and generation == observed and 0 < replicas <= ready < own_replicas(status)


def _fields(status: ManifestStatus) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], status.status or {})
