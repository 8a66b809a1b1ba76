"""A decision that lets nothing grow: for a binding whose larger result a quota has refused.

Assigned replicas may move, be evicted, replaced and taken back; further ones have to wait. So a full quota stops no
failover, also where the user wanted more replicas before the outage (Holds: S1, S11). But an eviction is finished by
all that is wanted: lost replicas that the quota refuses are missing, and old copies stay for them. So does a copy that
would come back without room beside its replacement: its eviction goes on. A refused placement takes no undivided copy
out of a cluster that it names no more. That copy stays until the quota lets in all that is wanted instead (S1).

Karmada: differs. Its scheduler tries the larger result again and again, and a dead cluster's replicas stay lost.
"""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from leeward.api.work import Binding, TargetCluster
from leeward.core.placement.decision import Decision
from leeward.core.placement.snapshot import Snapshot
from leeward.core.scheduling.selection import is_spread


def decide_within_usage(snapshot: Snapshot, decide: Callable[[Snapshot, Binding], Decision]) -> Decision:
    """Decides about the binding as if no more were wanted than it has. `decide` is also given the binding as it is: by
    its real wish an eviction is finished. A return that the quota refuses is left out: the evictions go on, and say why
    they are not finished."""
    binding, known = snapshot.binding, replace(snapshot, binding=as_assigned(snapshot.binding))
    decision = decide(known, binding)
    allowed = _allowed(snapshot, decision)
    if allowed is None and decision.withdrawn:
        decision = decide(replace(known, settings=replace(known.settings, withdraw=False)), binding)
        allowed = _allowed(snapshot, decision)
    return replace(allowed or _staying(binding, decision), quota_refusal=snapshot.quota_refusal)


def _allowed(snapshot: Snapshot, decision: Decision) -> Decision | None:
    """The decision as far as it lets nothing grow; None where nothing of it may be."""
    spec = snapshot.binding.spec
    clusters = decision.clusters if spec.is_divided else _as_many(snapshot, decision)
    is_cut = clusters != decision.clusters
    is_illegal = is_cut and not is_spread(msgspec.structs.replace(spec, clusters=clusters), snapshot.clusters)
    returned = {*decision.withdrawn, *decision.returning}
    is_lost = not returned.issubset(target.name for target in clusters)
    if (
        is_illegal
        or is_lost
        or not spec.clusters
        or sum(target.replicas for target in clusters) > sum(spec.assigned.values())
    ):
        return None
    return replace(decision, clusters=clusters)


def as_assigned(binding: Binding) -> Binding:
    """The binding, asking for its present replicas."""
    spec, counts = binding.spec, [target.replicas for target in binding.spec.clusters]
    if not counts:
        return binding
    replicas = sum(counts) if spec.is_divided else min(spec.replicas, max(counts))
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(spec, replicas=replicas))


def _as_many(snapshot: Snapshot, decision: Decision) -> tuple[TargetCluster, ...]:
    """Targets of copies that are not divided, where no target may be added.

    A target that stays keeps at most its replicas. A new cluster takes those of one that has to be left. A target that
    only the placement leaves stays.
    """
    spec = snapshot.binding.spec
    before, after = {each.name: each for each in spec.clusters}, {each.name: each for each in decision.clusters}
    kept = [_at_most(target, before[name].replicas) for name, target in after.items() if name in before]
    new = [target for name, target in after.items() if name not in before]
    left = [target for name, target in before.items() if name not in after]
    staying = [target for target in left if _may_stay(snapshot, decision, target.name)]
    replaced = [target for target in left if target not in staying]
    moved = [_at_most(target, old.replicas) for old, target in zip(replaced, new, strict=False)]
    unmoved = [_at_most(target, spec.replicas) for target in staying]
    return tuple(sorted((*kept, *moved, *unmoved), key=lambda target: target.name))


def _may_stay(snapshot: Snapshot, decision: Decision, name: str) -> bool:
    """Tells whether only the placement has the binding leave a cluster: that is in the fleet, and no task leaves it."""
    cluster = snapshot.clusters.get(name)
    is_left_by_task = any(task.from_cluster == name for task in decision.eviction_tasks)
    return cluster is not None and not cluster.is_being_deleted and not is_left_by_task


def _at_most(target: TargetCluster, replicas: int) -> TargetCluster:
    return msgspec.structs.replace(target, replicas=replicas) if target.replicas > replicas else target


def _staying(binding: Binding, decision: Decision) -> Decision:
    """The binding stays where it is, with its finished evictions."""
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
