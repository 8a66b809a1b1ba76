"""Plug-in ClusterAffinity: which clusters a placement names, and in which tier.

Karmada: pkg/util/selector.go, plugins/clusteraffinity; same.
"""

from collections.abc import Callable, Iterable, Mapping

from kubeapi.meta import LabelSelector, LabelSelectorRequirement
from kubeapi.selectors import matches, selector_of
from leeward.api.cluster import Cluster
from leeward.api.policy import ClusterAffinity, FieldSelector, Placement
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.scheduling.model import Filter, Request

UNKNOWN_TIER = 1000
"""Tier behind all real tiers."""


def cluster_matches(cluster: Cluster, affinity: ClusterAffinity) -> bool:
    """Tells whether all parts of the affinity that are set match."""
    return affinity_matcher(affinity)(cluster)


def affinity_matcher(affinity: ClusterAffinity) -> Callable[[Cluster], bool]:
    """Test of clusters by an affinity, compiled once for many of them."""
    selector = selector_of(affinity.label_selector)

    def is_meant(cluster: Cluster) -> bool:
        if cluster.name in affinity.exclude:
            return False
        if affinity.cluster_names and cluster.name not in affinity.cluster_names:
            return False
        if not matches(selector, cluster.metadata.labels):
            return False
        return affinity.field_selector is None or _fields_match(cluster, affinity.field_selector)

    return is_meant


def affinity_names(spec: ResourceBindingSpec) -> tuple[str, ...]:
    """Names of the terms, in their order; one without a name where there are none."""
    return tuple(term.affinity_name for term in (spec.placement or Placement()).cluster_affinities) or ("",)


def common_term(binding: Binding, names: Iterable[str], clusters: Mapping[str, Cluster]) -> str | None:
    """The affinity term that all these clusters are in, the observed one first; None when there is none."""
    observed = binding.status.scheduler_observing_affinity_name
    there = [clusters[name] for name in names if name in clusters]
    terms = sorted(affinity_names(binding.spec), key=lambda name: name != observed)
    if terms == [""]:
        return observed
    return next((t for t in terms if not any(_reject(Request(binding.spec, t), each) for each in there)), None)


def first_term_of(binding: Binding, names: Iterable[str], clusters: Mapping[str, Cluster]) -> str | None:
    """The first affinity term that all these clusters are in; None when there is none."""
    spec, there = binding.spec, [clusters[name] for name in names if name in clusters]
    return next((t for t in affinity_names(spec) if all(is_in_term(spec, t, each) for each in there)), None)


def is_in_term(spec: ResourceBindingSpec, affinity_name: str, cluster: Cluster | None) -> bool:
    """Tells whether the affinity term lets the cluster in; one that is not there is judged by nobody."""
    return cluster is None or _reject(Request(spec, affinity_name), cluster) is None


def tier_of(request: Request, cluster: Cluster) -> int:
    """0 for the primary group, i+1 for overflow affinity i."""
    if request.placement.cluster_affinity is not None or not request.placement.cluster_affinities:
        return 0
    groups = () if request.term is None else (request.term, *(request.term.overflow_affinities or ()))
    return next((tier for tier, group in enumerate(groups) if cluster_matches(cluster, group)), UNKNOWN_TIER)


def _reject(request: Request, cluster: Cluster) -> str | None:
    if any(cluster_matches(cluster, group) for group in _groups(request)):
        return None
    return "cluster(s) did not match the placement cluster affinity constraint"


def _groups(request: Request) -> tuple[ClusterAffinity, ...]:
    """The affinities of which one must match. A term that does not exist excludes nothing."""
    if request.placement.cluster_affinity is not None:
        return (request.placement.cluster_affinity,)
    if request.term is None:
        return (ClusterAffinity(),)
    overflow = request.term.overflow_affinities or ()
    return (request.term, *(overflow if request.spec.is_workload else ()))


def _fields_match(cluster: Cluster, selector: FieldSelector) -> bool:
    zone = tuple(e for e in selector.match_expressions if e.key == "zone")
    other = LabelSelector(match_expressions=tuple(e for e in selector.match_expressions if e.key != "zone"))
    fields = {"provider": cluster.spec.provider, "region": cluster.spec.region}
    present = {key: value for key, value in fields.items() if value}
    return matches(selector_of(other), present) and all(_zones_match(cluster.spec.zones, e) for e in zone)


def _zones_match(zones: tuple[str, ...], expression: LabelSelectorRequirement) -> bool:
    match expression.operator:
        case "In":
            return not set(zones).isdisjoint(expression.values)
        case "NotIn":
            return set(zones).isdisjoint(expression.values)
        case "Exists":
            return bool(zones)
        case "DoesNotExist":
            return not zones
        case _:
            return False


CLUSTER_AFFINITY = Filter("ClusterAffinity", _reject, shared=True)
