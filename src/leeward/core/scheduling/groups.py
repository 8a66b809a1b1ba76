"""Groups of clusters by a property: by region, zone, provider, or the value of a label.

A group's weight says how well it serves the request; the heaviest come first. A cluster in several zones is in several
groups, and one without the property in none. Karmada: spreadconstraint/group_clusters.go; the same for regions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from leeward.api.cluster import Cluster
from leeward.api.policy import SpreadConstraint
from leeward.api.spread_field import SpreadField, rules_of_field
from leeward.core.scheduling.model import Candidate, Request
from leeward.core.scheduling.spread_fields import field_of

WEIGHT_UNIT = 1000
"""One fulfilled replica outweighs any score."""
CLAIM_UNIT = 2**31 * WEIGHT_UNIT * 2
"""One claim outweighs all replicas."""


@dataclass(frozen=True, slots=True)
class Group:
    """`size` clusters; `spanning` are those of them that are in other groups, too, with all their groups."""

    name: str
    size: int
    weight: int
    spanning: Mapping[str, frozenset[str]]
    clusters: tuple[Candidate, ...] = ()

    @property
    def rank(self) -> tuple[int, str]:
        return (-self.weight, self.name)


@dataclass(frozen=True, slots=True)
class Grouping:
    """A spread constraint over groups: `values` gives a cluster's groups."""

    title: str
    values: Callable[[Cluster], Iterable[str]]
    constraint: SpreadConstraint

    def groups(self, request: Request, candidates: Sequence[Candidate], min_clusters: int) -> tuple[Group, ...]:
        members: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            for value in dict.fromkeys(self.values(candidate.cluster)):
                if value:
                    members.setdefault(value, []).append(candidate)
        weigh = _weigher(request, self.constraint.min_groups, min_clusters)
        return tuple(Group(name, len(g), weigh(g), self._spanning(g), tuple(g)) for name, g in members.items())

    def weights(self, request: Request, chosen: Sequence[Candidate], min_clusters: int) -> dict[str, int]:
        """The groups of the chosen clusters, with the weight of each by these alone."""
        return {group.name: group.weight for group in self.groups(request, chosen, min_clusters)}

    def _spanning(self, group: Iterable[Candidate]) -> Mapping[str, frozenset[str]]:
        reach = {candidate.name: frozenset(self.covered([candidate])) for candidate in group}
        return {name: groups for name, groups in reach.items() if len(groups) > 1}

    def covered(self, chosen: Iterable[Candidate]) -> set[str]:
        """The groups that these clusters are in."""
        return {value for candidate in chosen for value in self.values(candidate.cluster) if value}


def groupings(constraints: Iterable[SpreadConstraint]) -> list[Grouping]:
    """Groupings that the constraints ask for: region, provider, zone, then labels; of one field, the last."""
    found: dict[str, Grouping] = {}
    for constraint in constraints:
        label, field = constraint.spread_by_label, field_of(constraint)
        if field is not None and rules_of_field(field).groups:
            found[field.value] = Grouping(field.value, rules_of_field(field).values, constraint)
        elif label and field is None:
            found[f"label {label}"] = Grouping(f"label {label}", _label_values(label), constraint)
    fields = [field.value for field in SpreadField]
    order = [*fields, *(title for title in found if title not in fields)]
    return [found[title] for title in order if title in found]


def _label_values(label: str) -> Callable[[Cluster], Iterable[str]]:
    return lambda cluster: (cluster.metadata.labels.get(label, ""),)


def _weigher(request: Request, min_groups: int, min_clusters: int) -> Callable[[Sequence[Candidate]], int]:
    def weigh(group: Sequence[Candidate]) -> int:
        return weigh_room(group) + weight_of_claims(request, max(candidate.claims for candidate in group))

    weigh_room = _room_weigher(request, min_groups, min_clusters)
    return weigh


def weight_of_claims(request: Request, rank: int) -> int:
    """Weight that a group has by the claims in it: placed copies stay with their groups."""
    return 0 if request.assigned else rank * CLAIM_UNIT


def _room_weigher(request: Request, min_groups: int, min_clusters: int) -> Callable[[Sequence[Candidate]], int]:
    replicas, strategy = request.spec.replicas, request.placement.replica_scheduling
    if strategy is None or strategy.replica_scheduling_type == "Duplicated":
        return lambda group: _weight_of_copies(replicas, group)
    target = -(-replicas // max(1, min_groups))
    return lambda group: _weight_of_shares(target, max(min_clusters, min_groups), group)


def _weight_of_copies(replicas: int, group: Sequence[Candidate]) -> int:
    valid = [candidate.score for candidate in group if candidate.available >= replicas]
    return len(valid) * WEIGHT_UNIT + sum(valid) // len(valid) if valid else 0


def _weight_of_shares(target: int, enough: int, group: Sequence[Candidate]) -> int:
    room = scores = taken = 0
    for candidate in group:
        if taken >= enough and room >= target:
            break
        room += candidate.available
        scores += candidate.score
        taken += 1
    return min(room, target) * WEIGHT_UNIT + scores // max(1, taken)


def cluster_count(groups: Sequence[Group]) -> int:
    """The clusters that are in these groups and in no other."""
    names = {group.name for group in groups}
    spanning = {name for group in groups for name, reach in group.spanning.items() if reach <= names}
    return sum(group.size - len(group.spanning) for group in groups) + len(spanning)


def overlap(groups: Iterable[Group]) -> bool:
    """Tells whether a cluster is in several of them, or beside them."""
    return any(group.spanning for group in groups)


def covered_count(groups: Sequence[Group]) -> int:
    """The groups, of these, that have a cluster which is in no group beside these."""
    if not overlap(groups):
        return len(groups)
    names = {group.name for group in groups}
    inside = [reach for group in groups for reach in group.spanning.values() if reach <= names]
    return len({group.name for group in groups if group.size > len(group.spanning)}.union(*inside))
