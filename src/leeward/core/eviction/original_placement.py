"""Original placement: where a binding was before an outage, and where a failback brings it back to.

Remembered in an annotation of the binding when the first copy leaves a cluster that looks dead, as long as the policy
asks for a failback; so it is never larger than the binding's own targets. It is forgotten when it is reached, when the
user asks for another placement or a rescheduling, and when a failback has not become healthy in time.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object, wire_time
from leeward.api.cluster import Cluster
from leeward.api.failback import FailbackFault, FailbackOptions, parse_failback
from leeward.api.names import HOME_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.scheduling.division import divide


class OriginalPlacement(Object, frozen=True):
    """Replicas by cluster as they were `at` the beginning; `placement` is a digest of what was asked for then."""

    placement: str
    at: datetime
    clusters: Mapping[str, int]


def failback_options(binding: Binding) -> FailbackOptions:
    """Options of the policy; what cannot be read asks for no failback, and admission refuses it."""
    try:
        return parse_failback(binding.metadata.annotations)
    except FailbackFault:
        return FailbackOptions()


def parse_original_placement(binding: Binding) -> OriginalPlacement | None:
    """The original placement as far as it still counts."""
    spec = binding.spec
    try:
        original = decode(binding.metadata.annotations[HOME_ANNOTATION].encode(), OriginalPlacement)
    except (KeyError, DecodeError):
        return None
    is_asked_afresh = spec.reschedule_triggered_at is not None and spec.reschedule_triggered_at >= original.at
    return None if is_asked_afresh or original.placement != _digest(spec) else original


def remembered_placement(
    original: OriginalPlacement | None,
    before: ResourceBindingSpec,
    evicted: Iterable[Eviction],
    fleet: Mapping[str, Cluster],
    now: datetime,
) -> OriginalPlacement | None:
    """The original placement after these evictions from `before`; one that is known already is kept."""
    lost = [each for each in evicted if each.taints and each.cluster in fleet and looks_dead(fleet[each.cluster])]
    if original is not None or not lost:
        return original
    return OriginalPlacement(
        _digest(before), wire_time(now), {target.name: target.replicas for target in before.clusters}
    )


def original_placement_patch(binding: Binding, original: OriginalPlacement | None) -> Mapping[str, str | None]:
    """The change of the binding's annotations that keeps `original`; empty when it is kept already."""
    text = encode(original).decode() if original is not None else None
    present = binding.metadata.annotations.get(HOME_ANNOTATION)
    return {} if text == present else {HOME_ANNOTATION: text}


def goal_of(original: OriginalPlacement, spec: ResourceBindingSpec, fleet: Mapping[str, Cluster]) -> Mapping[str, int]:
    """Replicas that the binding would have there, now that it asks for so many replicas, on what of it is still
    joined."""
    joined = {n: count for n, count in original.clusters.items() if n in fleet and not fleet[n].is_being_deleted}
    if not spec.is_divided:
        return dict.fromkeys(joined, spec.replicas)
    if sum(joined.values()) == spec.replicas:
        return joined
    shares = divide(spec.replicas, joined, uid=spec.resource.uid)
    return {name: count for name, count in shares.items() if count}


def _digest(spec: ResourceBindingSpec) -> str:
    return hashlib.sha256(encode(spec.placement or Placement())).hexdigest()[:16]
