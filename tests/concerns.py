"""Concern of clusters, judged by decisions: a binding at rest stays as it is when a cluster changes that does not
concern it.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding
from leeward.core.binding_status import status_after
from leeward.core.placement import Decision
from leeward.core.placement.concern import concern_of, may_mean
from leeward.core.scheduling import Placed, Unplaceable, applied_placement, same_targets


def written(binding: Binding, decision: Decision, now: datetime) -> Binding:
    """The binding once the decision is written into its spec, its annotations and its status."""
    annotations = {**_applied(binding, decision), **decision.annotations}
    kept = {**binding.metadata.annotations, **annotations}
    metadata = replace(binding.metadata, annotations={key: text for key, text in kept.items() if text is not None})
    spec = replace(binding.spec, graceful_eviction_tasks=decision.eviction_tasks)
    if not same_targets(decision.clusters, spec.clusters):
        spec = replace(spec, clusters=decision.clusters)
    after = replace(binding, metadata=metadata, spec=spec)
    return replace(after, status=status_after(binding.status, after, decision, now))


def why_concerned(binding: Binding, decision: Decision, *states: Cluster) -> list[str]:
    """The grounds on which it is woken when a cluster goes from one of these states to the other; none: it is not.

    `decision` is the last one: who found no place then, or was held, is woken whether or not the binding says so."""
    found = concern_of(binding)
    is_meant = found.affinities is not None and may_mean(found.affinities, states)
    is_there = any(state.name in found.names for state in states)
    failed = isinstance(decision.result, Unplaceable) or decision.held is not None or bool(decision.quota_refusal)
    grounds = {"is there": is_there, "may go there": is_meant, "is under way": failed or found.anywhere}
    return [ground for ground, holds in grounds.items() if holds]


def difference(before: Decision, after: Decision) -> str:
    """The fields in which two decisions are not the same; empty where they are."""
    pairs = ((f.name, getattr(before, f.name), getattr(after, f.name)) for f in dataclasses.fields(Decision))
    return "; ".join(f"{name} {first}, then {second}" for name, first, second in pairs if first != second)


def _applied(binding: Binding, decision: Decision) -> Mapping[str, str]:
    placement = binding.spec.placement or Placement()
    is_fit = isinstance(decision.result, Placed) or getattr(decision.result, "kind", "") == "FitError"
    if decision.quota_refusal or not is_fit or applied_placement(binding) == placement:
        return {}
    return {APPLIED_PLACEMENT_ANNOTATION: encode(placement).decode()}
