"""Plug-in ClusterAffinity: which clusters a placement names, and in which tier.

Karmada: pkg/util/selector.go, plugins/clusteraffinity; same.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.policy import ClusterAffinity, ClusterAffinityTerm, Placement
from leeward.api.work import Binding, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling.model import Filter, Request

UNKNOWN_TIER = 1000
"""Tier behind all real tiers."""
NOT_MATCHED = "cluster(s) did not match the placement cluster affinity constraint"


def affinity_names(spec: ResourceBindingSpec) -> tuple[str, ...]:
    """Names of the terms, in their order; one without a name where there are none."""
    return tuple(term.affinity_name for term in (spec.placement or Placement()).cluster_affinities) or ("",)


def affinities_of(placement: Placement | None) -> tuple[ClusterAffinity, ...]:
    """Affinities of the placement, in whatever term."""
    if placement is None:
        return ()
    if placement.cluster_affinity is not None:
        return (placement.cluster_affinity,)
    terms = placement.cluster_affinities
    return tuple(each for term in terms for each in (term, *(term.overflow_affinities or ())))


def common_term(binding: Binding, names: Iterable[str], clusters: Mapping[str, Cluster]) -> str | None:
    """The affinity term that all these clusters are in, the observed one first; None when there is none."""
    observed = binding.status.scheduler_observing_affinity_name
    there = [clusters[name] for name in names if name in clusters]
    terms = sorted(affinity_names(binding.spec), key=lambda name: name != observed)
    if terms == [""]:
        return observed
    found = _requests(binding.spec, terms)
    return next((r.affinity_name for r in found if not any(_reject(r, each) for each in there)), None)


def first_term_of(binding: Binding, names: Iterable[str], clusters: Mapping[str, Cluster]) -> str | None:
    """The first affinity term that all these clusters are in; None when there is none."""
    spec, there = binding.spec, [clusters[name] for name in names if name in clusters]
    found = _requests(spec, affinity_names(spec))
    return next((r.affinity_name for r in found if all(_reject(r, each) is None for each in there)), None)


def is_in_any_term(spec: ResourceBindingSpec, cluster: Cluster | None) -> bool:
    """Tells whether the placement lets the cluster in, in whatever affinity term."""
    return cluster is None or any(_reject(r, cluster) is None for r in _requests(spec, affinity_names(spec)))


def _requests(spec: ResourceBindingSpec, names: Iterable[str]) -> Iterator[Request]:
    """A request for each of these terms, without a search for each of them."""
    terms = terms_by_name(spec)
    return (Request(spec, name, term_in_view=terms.get(name)) for name in names)


def terms_by_name(spec: ResourceBindingSpec) -> Mapping[str, ClusterAffinityTerm]:
    """The affinity terms of the placement; of those of one name the first."""
    return {term.affinity_name: term for term in reversed((spec.placement or Placement()).cluster_affinities)}


def is_in_term(spec: ResourceBindingSpec, affinity_name: str, cluster: Cluster | None) -> bool:
    """Tells whether the affinity term lets the cluster in; one that is not there is judged by nobody."""
    return cluster is None or _reject(Request(spec, affinity_name), cluster) is None


def in_term_of_ended(
    spec: ResourceBindingSpec, status: ResourceBindingStatus, ended: Collection[str]
) -> ResourceBindingSpec:
    """`spec` with the observed term alone, where a Job for each cluster of a term has `ended` in some cluster."""
    name = status.scheduler_observing_affinity_name
    return with_term_alone(spec, name) if ended and name in affinity_names(spec) and not spec.is_divided else spec


def with_term_alone(spec: ResourceBindingSpec, name: str) -> ResourceBindingSpec:
    """`spec` with no affinity term but this one."""
    placement = spec.placement or Placement()
    alone = tuple(term for term in placement.cluster_affinities if term.affinity_name == name)
    placement = msgspec.structs.replace(placement, cluster_affinities=alone)
    return msgspec.structs.replace(spec, placement=placement)


def tier_of(request: Request, cluster: Cluster) -> int:
    """0 for the primary group, i+1 for overflow affinity i."""
    if request.placement.cluster_affinity is not None or not request.placement.cluster_affinities:
        return 0
    matching = (tier for tier, is_meant in enumerate(request.tier_matchers) if is_meant(cluster))
    return next(matching, UNKNOWN_TIER)


def _reject(request: Request, cluster: Cluster) -> str | None:
    if any(is_meant(cluster) for is_meant in request.matchers):
        return None
    return NOT_MATCHED


CLUSTER_AFFINITY = Filter("ClusterAffinity", _reject, shared=True)
