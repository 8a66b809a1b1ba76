"""Original placement: where a binding was before an outage, and where a failback brings it back to.

An annotation of the binding remembers it when the first copy leaves a cluster that looks dead, as long as the policy
asks for a failback. So it is never larger than the binding's own targets. It is forgotten when it is reached, when the
user asks for another placement or a rescheduling, and when a failback has not become healthy in time.

Where it was in an earlier term of `clusterAffinities`, it returns to that term, or to the first one between that fits.
Then `clusters` are the goal in the term that it is on its way to.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object, wire_time
from leeward.api.cluster import Cluster
from leeward.api.failback import FailbackOptions, OptionFault, parse_failback
from leeward.api.names import HOME_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.scheduling.affinity import affinity_names, is_in_term
from leeward.core.scheduling.division import divide


class OriginalPlacement(Object, frozen=True):
    """Replicas by cluster as they were `at` the beginning; `placement` is a digest of the placement of then.

    `term`: the affinity term that it was in. `away`: replicas by cluster when a return between terms began; that is
    where they go back to when it fails.
    """

    placement: str
    at: datetime
    clusters: Mapping[str, int]
    term: str = ""
    away: Mapping[str, int] = {}


def failback_options(binding: Binding) -> FailbackOptions:
    """Options of the policy; an unreadable text asks for no failback, and admission refuses it."""
    try:
        return parse_failback(binding.metadata.annotations)
    except OptionFault:
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
    term: str = "",
) -> OriginalPlacement | None:
    """The original placement after these evictions from `before`, in this affinity `term`; a known one is kept."""
    lost = [each for each in evicted if each.taints and each.cluster in fleet and looks_dead(fleet[each.cluster])]
    if original is not None or not lost:
        return original
    return OriginalPlacement(_digest(before), wire_time(now), before.assigned, term)


def first_missed(
    spec: ResourceBindingSpec, placed_in: str, fleet: Mapping[str, Cluster], now: datetime
) -> OriginalPlacement | None:
    """Memory of a binding whose first place is in a term behind one that an outage has taken: it is to go there."""
    for name in affinity_names(spec):
        if name == placed_in:
            break
        if any(looks_dead(cluster) and is_in_term(spec, name, cluster) for cluster in fleet.values()):
            return OriginalPlacement(_digest(spec), wire_time(now), {}, name)
    return None


def beginning_to(original: OriginalPlacement, spec: ResourceBindingSpec, goal: Mapping[str, int]) -> OriginalPlacement:
    """The memory of a return between affinity terms that begins, to this goal."""
    return msgspec.structs.replace(original, clusters=dict(goal), away=spec.assigned)


def given_up(original: OriginalPlacement, term: str, now: datetime) -> OriginalPlacement:
    """The memory of a failed return between affinity terms, of which a part is there. It goes back to the `term` that
    it came from. Where that fails, too, it is tried again after a while."""
    if not original.away:
        return msgspec.structs.replace(original, at=wire_time(now))
    return msgspec.structs.replace(original, clusters=original.away, term=term, away={})


def forgotten(binding: Binding, fleet: Mapping[str, Cluster], now: datetime) -> OriginalPlacement:
    """A memory for a binding on its way between two affinity terms that has none: it goes to the observed one."""
    spec, term = binding.spec, binding.status.scheduler_observing_affinity_name
    there = {n: count for n, count in spec.assigned.items() if is_in_term(spec, term, fleet.get(n))}
    return OriginalPlacement(_digest(spec), binding.status.last_scheduled_time or wire_time(now), there, term)


def original_placement_patch(binding: Binding, original: OriginalPlacement | None) -> Mapping[str, str | None]:
    """The change of the binding's annotations that keeps `original`; empty when it is kept already."""
    text = encode(original).decode() if original is not None else None
    present = binding.metadata.annotations.get(HOME_ANNOTATION)
    return {} if text == present else {HOME_ANNOTATION: text}


def goal_of(original: OriginalPlacement, spec: ResourceBindingSpec, fleet: Mapping[str, Cluster]) -> Mapping[str, int]:
    """Replicas that the binding would have there by its present number, in clusters that are still joined."""
    joined = {n: count for n, count in original.clusters.items() if n in fleet and not fleet[n].is_being_deleted}
    if not spec.is_divided:
        return dict.fromkeys(joined, spec.replicas)
    if sum(joined.values()) == spec.replicas:
        return joined
    shares = divide(spec.replicas, joined, uid=spec.resource.uid)
    return {name: count for name, count in shares.items() if count}


def _digest(spec: ResourceBindingSpec) -> str:
    return hashlib.sha256(encode(spec.placement or Placement())).hexdigest()[:16]
