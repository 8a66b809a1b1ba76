"""*Seen healthy*: the only health that a deletion may rest on.

The last reported health is `Healthy`; it was observed after the Work's present manifest was applied there; for
workloads ready >= assigned; and the cluster is Ready now. Everything else is unknown, which is not healthy.

The second part rests on two generations: the binding controller aggregates only what the present generation of each
Work yields (`trusted`), and says in the condition FullyApplied for which generation of the binding it did so.

Karmada asks only that the scheduler has observed the generation, so that a stale `Healthy` ends its tasks early
(BEHAVIOUR 8.11); that is not copied.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import REFLECTED_CONDITION
from leeward.api.work import AggregatedStatusItem, Binding, TargetCluster, Work

FULLY_APPLIED = "FullyApplied"


def is_seen_healthy(binding: Binding, target: TargetCluster, cluster: Cluster | None) -> bool:
    """Whether the copy on `target` may be relied upon now. Holds: S1."""
    if cluster is None or not cluster.is_ready or not _is_current(binding):
        return False
    item = next((i for i in binding.status.aggregated_status if i.cluster_name == target.name), None)
    if item is None or not item.applied or item.health != "Healthy":
        return False
    return target.replicas == 0 or _ready_replicas(item) >= target.replicas


def trusted(work: Work) -> Work:
    """`work` without what was reported of an earlier generation of it."""
    generation = work.metadata.generation
    applied = work.applied
    if applied is None or applied.observed_generation != generation:
        conditions = tuple(c for c in work.status.conditions if c.type != "Applied")
        return _with_status(work, conditions=conditions)
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION)
    if reflected is None or reflected.observed_generation != generation:
        statuses = tuple(msgspec.structs.replace(s, health="Unknown") for s in work.status.manifest_statuses)
        return _with_status(work, manifest_statuses=statuses)
    return work


def _is_current(binding: Binding) -> bool:
    """Whether the aggregated status was made of Works that render the present spec."""
    applied = find_condition(binding.status.conditions, FULLY_APPLIED)
    return applied is not None and applied.observed_generation == binding.metadata.generation


def _ready_replicas(item: AggregatedStatusItem) -> int:
    """The ready replicas that the member reports, 0 when it reports none."""
    status = cast(Mapping[str, Any], item.status or {})
    counts = (status.get(field) for field in ("readyReplicas", "numberReady", "ready", "succeeded"))
    return next((count for count in counts if isinstance(count, int)), 0)


def _with_status(work: Work, **changes: Any) -> Work:
    return msgspec.structs.replace(work, status=msgspec.structs.replace(work.status, **changes))
