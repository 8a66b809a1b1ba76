"""Purge modes of eviction tasks, and of the policy that taints evict by. What a mode means: `api.purge_mode`."""

from leeward.api.policy import FailoverBehavior
from leeward.api.purge_mode import DEFAULT_PURGE_MODE, PurgeMode, PurgeRules, rules_of
from leeward.api.work import GracefulEvictionTask


def rules_of_task(task: GracefulEvictionTask) -> PurgeRules:
    return rules_of(PurgeMode(task.purge_mode or DEFAULT_PURGE_MODE))


def purge_mode_of(failover: FailoverBehavior | None, default: PurgeMode) -> PurgeMode:
    """Purge mode of evictions by taints: the policy's word, else the flag's."""
    if failover is not None and failover.cluster is not None:
        return PurgeMode(failover.cluster.purge_mode or DEFAULT_PURGE_MODE)
    return PurgeMode(default)
