"""Preference for clusters that hold a claim which the template names: the application finds its data again.

It breaks ties before room and names do; clusters that hold the application come first in any case. It refuses no
cluster: where it would leave the template without a place, it counts for nothing. Karmada: has no such preference.
"""

from collections.abc import Callable, Mapping, Sequence

from leeward.api.work import AggregatedStatusItem, BindingSnapshot, ResourceBindingSpec, Work

HeldClaims = Mapping[str, Sequence[str]]
"""The clusters that hold each claim; first those where it was needed last."""


def no_claims(spec: ResourceBindingSpec) -> HeldClaims:
    return {}


def clusters_holding(
    works: Mapping[str, Work],
    reported: Sequence[AggregatedStatusItem],
    required_by: Sequence[BindingSnapshot],
    dependant: tuple[str, str],
) -> tuple[str, ...]:
    """The clusters that hold a claim, by the Works and reports of its binding.

    First those where `dependant` (namespace and name of its binding) needed it last, as `required_by` lists them.
    """
    held = {name for name, work in works.items() if work.was_applied and work.metadata.deletion_timestamp is None}
    held |= {item.cluster_name for item in reported if item.applied and item.cluster_name not in works}
    own = [target.name for e in required_by if (e.namespace, e.name) == dependant for target in e.clusters]
    others = [target.name for e in required_by if (e.namespace, e.name) != dependant for target in e.clusters]
    return tuple(name for name in dict.fromkeys((*own, *others, *sorted(held))) if name in held)


def claim_ranks(held: HeldClaims, is_fit: Callable[[str], bool]) -> Mapping[str, int]:
    """Ranks of the clusters that hold a claim and are fit; the highest is the best.

    A cluster with more of the claims comes first; of those with as many, the one where they were needed last.
    """
    positions: dict[str, list[int]] = {}
    for clusters in held.values():
        for position, name in enumerate(filter(is_fit, clusters)):
            positions.setdefault(name, []).append(-position)
    worth = {name: (len(each), sum(each)) for name, each in positions.items()}
    order = sorted(set(worth.values()))
    return {name: order.index(each) + 1 for name, each in worth.items()}
