"""Room for replicas that return: what the present targets give up for them."""

from collections.abc import Mapping

import msgspec

from leeward.api.work import TargetCluster


def without_unready(
    targets: tuple[TargetCluster, ...], ready: Mapping[str, int], excess: int
) -> tuple[TargetCluster, ...] | None:
    """Takes `excess` replicas away from where they are not ready. None where that is too little."""
    kept: list[TargetCluster] = []
    for target in sorted(targets, key=lambda target: (ready[target.name] - target.replicas, target.name)):
        taken = min(excess, target.replicas - ready[target.name])
        excess -= taken
        if target.replicas > taken:
            kept.append(msgspec.structs.replace(target, replicas=target.replicas - taken))
    return tuple(kept) if excess == 0 else None


def without_partly_ready(
    targets: tuple[TargetCluster, ...], ready: Mapping[str, int], excess: int
) -> tuple[TargetCluster, ...] | None:
    """Takes `excess` replicas away, which are more than are not ready: all of those, and ready ones of targets that are
    ready in part. A target that is ready as a whole loses none. None where that is too little."""
    from_ready = excess - sum(target.replicas - ready[target.name] for target in targets)
    kept: list[TargetCluster] = []
    for target in targets:
        is_partly_ready = ready[target.name] < target.replicas
        taken = min(from_ready, ready[target.name]) if is_partly_ready else 0
        from_ready -= taken
        if ready[target.name] > taken:
            kept.append(msgspec.structs.replace(target, replicas=ready[target.name] - taken))
    return tuple(kept) if from_ready == 0 else None
