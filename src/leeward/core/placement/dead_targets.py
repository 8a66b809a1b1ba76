"""Dead targets: clusters that look dead, where a binding is scheduled for another reason than their loss.

They gain nothing, and give before a copy that is alive does. Where copies go is the scheduler's to say, and what leaves
for the loss itself that of `eviction`. Holds: S1.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.scheduling.reschedule import is_unjoined

Targets = tuple[TargetCluster, ...]


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a result: replicas that clusters which look dead `gain`, those that clusters which are alive `lose`, and
    those that `stay` in dead ones. Of copies that are not divided each counts as one. `lives`: one that is alive has
    any of it."""

    gain: int
    lose: int
    stay: int
    lives: bool = True

    @property
    def is_due(self) -> bool:
        """Tells whether there is something to spare."""
        return self.gain > 0 or (self.lose > 0 and self.stay > 0)

    @property
    def takes_all(self) -> bool:
        """Tells whether nothing is left of what clusters that are alive have now."""
        return self.lose > 0 and not self.lives

    def is_less_than(self, other: "Price") -> bool:
        own, others = ((price.gain, price.lose, not price.lives) for price in (self, other))
        return own != others and all(here <= there for here, there in zip(own, others, strict=True))


def price_of(spec: ResourceBindingSpec, result: Targets, fleet: Mapping[str, Cluster]) -> Price:
    before, after = _counts(spec, spec.clusters), _counts(spec, result)
    dead = [name for name in {*before, *after} if _is_dead(fleet.get(name))]
    alive = [name for name in before if name not in dead and not is_unjoined(fleet.get(name))]
    return Price(
        gain=sum(max(0, after.get(name, 0) - before.get(name, 0)) for name in dead),
        lose=sum(max(0, before[name] - after.get(name, 0)) for name in alive),
        stay=sum(after.get(name, 0) for name in dead),
        lives=any(count and name not in dead and not is_unjoined(fleet.get(name)) for name, count in after.items()),
    )


def ways_to_spare(
    spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], pinned: Collection[str]
) -> Iterator[tuple[Targets, set[str]]]:
    """Questions to ask instead, in their order: which dead targets stay as what, and who may have nothing of the rest.

    Of what is divided dead targets keep as many replicas as are wanted beyond those that are alive, or `pinned`, or
    else none. Copies that are not divided stay in dead clusters, or else are nowhere there.
    """
    dead = {name for name, cluster in fleet.items() if _is_dead(cluster)}
    if spec.is_divided:
        yield _kept(spec, fleet, dead.difference(pinned)), dead
        yield (), dead
        return
    yield (), dead - {target.name for target in spec.clusters}
    yield (), dead


def _kept(spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], dead: Collection[str]) -> Targets:
    there = [target for target in spec.clusters if not is_unjoined(fleet.get(target.name))]
    wanted, kept = (
        spec.replicas - sum(target.replicas for target in there if target.name not in dead),
        list[TargetCluster](),
    )
    for target in sorted(there, key=lambda each: each.name):
        replicas = min(target.replicas, wanted) if target.name in dead else 0
        if replicas > 0:
            kept.append(msgspec.structs.replace(target, replicas=replicas))
            wanted -= replicas
    return tuple(kept)


def _counts(spec: ResourceBindingSpec, targets: Targets) -> dict[str, int]:
    return {target.name: target.replicas if spec.is_divided else 1 for target in targets}


def _is_dead(cluster: Cluster | None) -> bool:
    return cluster is not None and not is_unjoined(cluster) and looks_dead(cluster)
