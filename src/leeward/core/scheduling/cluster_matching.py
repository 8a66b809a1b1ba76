"""Meaning of an affinity for a cluster: compiled once, and asked about many of them.

Karmada: pkg/util/selector.go; same.
"""

from collections.abc import Callable, Sequence

from kubeapi.meta import LabelSelector, LabelSelectorRequirement
from kubeapi.selectors import matches, selector_of
from leeward.api.cluster import Cluster
from leeward.api.policy import ClusterAffinity, FieldSelector, StaticClusterWeight

ClusterMatcher = Callable[[Cluster], bool]


def cluster_matches(cluster: Cluster, affinity: ClusterAffinity) -> bool:
    """Tells whether all parts of the affinity that are set match."""
    is_named = not affinity.cluster_names or cluster.name in affinity.cluster_names
    return is_named and affinity_matcher(affinity)(cluster)


def affinity_matcher(affinity: ClusterAffinity) -> ClusterMatcher:
    """Test of clusters by an affinity, compiled once for many of them."""
    selector = selector_of(affinity.label_selector)
    names, excluded = frozenset(affinity.cluster_names), frozenset(affinity.exclude)

    def is_meant(cluster: Cluster) -> bool:
        if cluster.name in excluded:
            return False
        if names and cluster.name not in names:
            return False
        if not matches(selector, cluster.metadata.labels):
            return False
        return affinity.field_selector is None or _fields_match(cluster, affinity.field_selector)

    return is_meant


def weight_finder(rules: Sequence[StaticClusterWeight]) -> Callable[[Cluster], int]:
    """The greatest weight of the rules that match a cluster, 0 without any. Rules that only name clusters are found by
    the name: of many rules for many clusters, each is looked at once."""
    by_name: dict[str, int] = {}
    others: list[tuple[ClusterMatcher, int]] = []
    for rule in rules:
        target = rule.target_cluster
        if target.cluster_names and target == ClusterAffinity(cluster_names=target.cluster_names):
            for name in target.cluster_names:
                by_name[name] = max(by_name.get(name, rule.weight), rule.weight)
        else:
            others.append((affinity_matcher(target), rule.weight))

    def weight(cluster: Cluster) -> int:
        matching = [weight for matches_it, weight in others if matches_it(cluster)]
        named = by_name.get(cluster.name)
        return max(matching if named is None else (*matching, named), default=0)

    return weight


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
