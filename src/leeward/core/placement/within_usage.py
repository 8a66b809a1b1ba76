"""A decision that lets nothing grow: for a binding whose larger result a quota has refused.

What is assigned may move, be evicted, replaced and taken back; what is wanted beyond it has to wait. So a quota that is
full stops no failover, also where the user wanted more replicas before the outage (Holds: S1, S11). But whether an
eviction is finished is judged by all that is wanted: replicas that were lost and that the quota refuses are missing,
and old copies stay for them. So does a copy that would come back where there is no room for it
beside what replaces it: its eviction goes on. A placement that names fewer clusters, and that the quota refuses, takes
no copy out of those that it names no more, but for one that a new cluster gets.

Karmada: differs. Its scheduler tries the larger result again and again, and what a dead cluster has lost stays lost.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec

from leeward.api.work import Binding, TargetCluster
from leeward.core.placement.decision import Decision
from leeward.core.placement.snapshot import Snapshot
from leeward.core.scheduling.selection import is_spread


def decide_within_usage(snapshot: Snapshot, decide: Callable[[Snapshot, Binding], Decision]) -> Decision:
    """Decides about the binding as if no more were wanted than it has. `decide` is also given the binding as it is: by
    what is really wanted, it says whether an eviction is finished."""
    spec = snapshot.binding.spec
    decision = decide(replace(snapshot, binding=_as_assigned(snapshot.binding)), snapshot.binding)
    clusters = decision.clusters if spec.is_divided else _as_many(snapshot, decision)
    is_cut = clusters != decision.clusters
    is_illegal = is_cut and not is_spread(msgspec.structs.replace(spec, clusters=clusters), snapshot.clusters)
    returned = {*decision.withdrawn, *decision.returning}
    is_lost = not returned.issubset(target.name for target in clusters)
    if is_illegal or is_lost or not spec.clusters or _sum(clusters) > _sum(spec.clusters):
        decision = _staying(snapshot.binding, decision)
    else:
        decision = replace(decision, clusters=clusters)
    return replace(decision, quota_refusal=snapshot.quota_refusal)


def _as_assigned(binding: Binding) -> Binding:
    """The binding, asking for what it has."""
    spec, counts = binding.spec, [target.replicas for target in binding.spec.clusters]
    if not counts:
        return binding
    replicas = sum(counts) if spec.is_divided else min(spec.replicas, max(counts))
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(spec, replicas=replicas))


def _as_many(snapshot: Snapshot, decision: Decision) -> tuple[TargetCluster, ...]:
    """Targets that were there already and stay, with no more replicas; a new cluster for each that is left, as far as
    there are such; and those that are left for no other and could stay."""
    spec = snapshot.binding.spec
    known, wanted = {each.name: each for each in spec.clusters}, {each.name: each for each in decision.clusters}
    kept = [_at_most(target, known[name].replicas) for name, target in wanted.items() if name in known]
    stays = _can_stay(snapshot, decision)
    lost = sorted((target for name, target in known.items() if name not in wanted), key=lambda each: stays(each.name))
    new = [target for name, target in wanted.items() if name not in known]
    moved = [_at_most(target, left.replicas) for left, target in zip(lost, new, strict=False)]
    unreplaced = [_at_most(target, spec.replicas) for target in lost[len(new) :] if stays(target.name)]
    return tuple(sorted((*kept, *moved, *unreplaced), key=lambda target: target.name))


def _can_stay(snapshot: Snapshot, decision: Decision) -> Callable[[str], bool]:
    """Tells of a cluster whether nothing but the placement has the binding leave it."""
    leaving = {task.from_cluster for task in decision.eviction_tasks}

    def can_stay(name: str) -> bool:
        cluster = snapshot.clusters.get(name)
        return cluster is not None and not cluster.is_being_deleted and name not in leaving

    return can_stay


def _at_most(target: TargetCluster, replicas: int) -> TargetCluster:
    return msgspec.structs.replace(target, replicas=replicas) if target.replicas > replicas else target


def _sum(targets: Iterable[TargetCluster]) -> int:
    return sum(target.replicas for target in targets)


def _staying(binding: Binding, decision: Decision) -> Decision:
    """The binding stays where it is; what is finished is finished."""
    spec = binding.spec
    tasks = tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in decision.finished)
    return Decision(
        spec.clusters,
        tasks,
        held=decision.held,
        finished=decision.finished,
        foreign=decision.foreign,
        foreign_held=decision.foreign_held,
        wake_at=decision.wake_at,
    )
