"""Changes that would give a binding a place which it does not find: the same decision, asked with one thing changed.

Only changes that were tried and that gain something are named.
"""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from leeward.answers.decisions import fleet_of, snapshot_of
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.room_arithmetic import RoomRow, free_cores
from leeward.api.cluster import Cluster
from leeward.api.core import Taint, Toleration
from leeward.api.names import UNSCHEDULABLE_TAINT
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, key_of
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement import Decision, decide
from leeward.operations.sentences import counted

MOST_TRIED = 8
"""Changes of one sort that are tried: each is a decision."""
MOST_CORDONS = 2
"""Cordons that are tried for a whole fleet: each is a projection, which takes a second or two of a large one."""


class Help(msgspec.Struct, frozen=True, rename="camel"):
    change: str
    effect: str


def what_helps(state: FleetState, key: BindingName, decision: Decision, rooms: list[RoomRow]) -> tuple[Help, ...]:
    """Help for what is missed; none where nothing is."""
    binding = state.bindings[key]
    if decision.held is not None and decision.held.reason == HeldReason.BRAKE_ENGAGED:
        return (Help("leeward brake release", "what is due leaves, if the clusters are really lost"),)
    placed = well_placed(state.clusters, decision)
    if wanted_copies(binding.spec) <= placed:
        return ()
    tried = (*_tolerations(state, binding), *_uncordoned(state, binding), *_affinities(binding))
    helps = [
        Help(change, effect) for change, one, taints in tried if (effect := _effect(state, key, one, taints, placed))
    ]
    return (*helps, *_more_room(binding.spec, rooms), *_returns(state, binding, decision))


def well_placed(clusters: Mapping[str, Cluster], decision: Decision) -> int:
    """The replicas that a decision gives to clusters that are there and do not look dead; copies where none divide."""
    there = [t for t in decision.clusters if t.name in clusters and not looks_dead(clusters[t.name])]
    return sum(max(1, target.replicas) for target in there)


def wanted_copies(spec: ResourceBindingSpec) -> int:
    """Number of copies that must be somewhere that is well."""
    return spec.replicas if spec.is_divided else max(1, sum(max(1, target.replicas) for target in spec.clusters))


_Tried = tuple[str, Binding, frozenset[tuple[str, str]]]
"""Change that is tried, the binding with it, and the taints that clusters are without."""


def _tolerations(state: FleetState, binding: Binding) -> Iterator[_Tried]:
    """Taints of others, one by one; what an outage has set is tolerated by nobody in earnest."""
    taints = {t for cluster in state.clusters.values() for t in cluster.taints if key_of(t) not in CONDITION_TAINTS}
    others = {(t.key, t.value, t.effect): t for t in taints if t.key != UNSCHEDULABLE_TAINT}
    for _, taint in sorted(others.items())[:MOST_TRIED]:
        placement = _placement(binding)
        toleration = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        more = (*placement.cluster_tolerations, toleration)
        changed = msgspec.structs.replace(placement, cluster_tolerations=more)
        yield f"tolerate {_name(taint)}", _with_placement(binding, changed), frozenset()


def _cordoned(state: FleetState) -> list[str]:
    cordon = (UNSCHEDULABLE_TAINT, "NoSchedule")
    return [c.name for c in state.clusters.values() if any(key_of(taint) == cordon for taint in c.taints)]


def cordons_to_try(state: FleetState, but: Collection[str]) -> Iterator[tuple[str, FleetState]]:
    """States in which one cordoned cluster is not, by its name: of those with most room, and not of `but`."""
    fleet = fleet_of(state)
    cordoned = [name for name in _cordoned(state) if name not in but and not looks_dead(state.clusters[name])]
    cordoned.sort(key=lambda name: (-(free_cores(fleet, name) or 0), name))
    for name in cordoned[:MOST_CORDONS]:
        untainted = frozenset({(name, UNSCHEDULABLE_TAINT)})
        clusters = tuple(_without(cluster, untainted) for cluster in state.clusters.values())
        yield name, FleetState(msgspec.structs.replace(state.recorded, clusters=clusters))


def effect_on(wanting: int, left: int, replicas: int) -> str:
    """`all 11 would find room`: of applications that find none, some are left that do not either."""
    if left == 0:
        return f"{'all ' if wanting > 1 else ''}{wanting if wanting > 1 else 'it'} would find room"
    if left < wanting:
        return f"{wanting - left} of {wanting} would find room"
    return f"{counted(replicas, 'replica')} more would find room"


def _uncordoned(state: FleetState, binding: Binding) -> Iterator[_Tried]:
    for name in sorted(_cordoned(state))[:MOST_TRIED]:
        yield f"leeward uncordon {name}", binding, frozenset({(name, UNSCHEDULABLE_TAINT)})


def _affinities(binding: Binding) -> Iterator[_Tried]:
    placement = _placement(binding)
    if placement.cluster_affinity is not None or placement.cluster_affinities:
        free = msgspec.structs.replace(placement, cluster_affinity=None, cluster_affinities=())
        yield "let its policy name more clusters", _with_placement(binding, free), frozenset()


def _effect(
    state: FleetState, key: BindingName, binding: Binding, untainted: frozenset[tuple[str, str]], before: int
) -> str:
    """Sentence on what the change gains; empty where it gains nothing."""
    clusters = [_without(cluster, untainted) for cluster in state.clusters.values()]
    decision = decide(snapshot_of(state, key, fleet_of(state, clusters), binding=binding))
    gained = well_placed(state.clusters, decision) - before
    had = {target.name: target.replicas for target in state.bindings[key].spec.clusters}
    to = [target.name for target in decision.clusters if target.replicas > had.get(target.name, -1)]
    return (
        f"{counted(gained, 'more')} would find room, in {', '.join(to)}".replace("mores", "more") if gained > 0 else ""
    )


def _more_room(spec: ResourceBindingSpec, rooms: list[RoomRow]) -> Iterator[Help]:
    """Help by what is missing for one more replica, least first."""
    short = [(row.each - row.free % row.each, row) for row in rooms if row.each > 0 and not row.by_nodes]
    for missing, row in sorted(short, key=lambda item: (item[0], item[1].cluster))[:2] if spec.is_divided else ():
        yield Help(f"{_amount(missing, row.resource)} more in {row.cluster}", "one more would find room")


def _returns(state: FleetState, binding: Binding, decision: Decision) -> Iterator[Help]:
    kept = {target.name: target.replicas for target in decision.clusters}
    for name, replicas in kept.items():
        cluster = state.clusters.get(name)
        if cluster is not None and looks_dead(cluster):
            is_one = replicas == 1 or not binding.spec.is_divided
            said = f"its {'copy is' if is_one else f'{replicas} are'} seen again at once"
            yield Help(f"{name} comes back", said)


def _amount(number: float, resource: str) -> str:
    if resource == "memory":
        return f"{number / 2**30:.1f} GiB"
    return f"{number:.2f} cores" if resource == "cpu" else f"{number:.0f} {resource}"


def _without(cluster: Cluster, untainted: frozenset[tuple[str, str]]) -> Cluster:
    taints = tuple(taint for taint in cluster.taints if (cluster.name, taint.key) not in untainted)
    return cluster if len(taints) == len(cluster.taints) else cluster.with_taints(taints, {})


def _placement(binding: Binding) -> Placement:
    return binding.spec.placement or Placement()


def _with_placement(binding: Binding, placement: Placement) -> Binding:
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, placement=placement))


def _name(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
