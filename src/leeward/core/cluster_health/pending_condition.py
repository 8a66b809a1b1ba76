"""Pending condition: observations of a cluster that do not count yet (`leeward.dev/Failing`).

    True    it is Ready still, but its probes fail, or its agent is overdue
    False   it is not Ready yet, but it answers again
    absent  observations agree with `Ready`

It is written when such a doubt begins and when it ends, and not in between. `lastTransitionTime` is when the clock of
the threshold started, so that a restart goes on with it. The brake counts clusters that are about to be lost. Nobody
else decides by it, least of all Karmada's clients.

Karmada keeps this in memory (pkg/util/helper, condition cache), and counts anew after a restart.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition, remove_condition, set_condition
from leeward.api.names import FAILING_CONDITION
from leeward.core.cluster_health.ready_condition import BEFORE_ALL, UNCOLLECTED_REASONS, HealthMemory, Thresholds

AGENT_OVERDUE = "AgentOverdue"
"""The reason of a doubt that rests on silence, and not on a probe."""


def doubt_of(memory: HealthMemory, observed: Condition, ready: Condition) -> Condition | None:
    """The doubt after an observation, if there is one; `ready` is the condition that counts now."""
    fails = observed.status != "True"
    if fails != (ready.status == "True"):
        return None
    becomes = f"{observed.message}; Ready becomes {observed.status} if that lasts"
    return Condition(FAILING_CONDITION, "True" if fails else "False", observed.reason, becomes, wire_time(memory.since))


def overdue_doubt(since: datetime) -> Condition:
    """The doubt about a cluster whose agent was heard of last at `since`."""
    message = "nothing has been heard of the agent for longer than usual; Ready becomes Unknown if that lasts"
    return Condition(FAILING_CONDITION, "True", AGENT_OVERDUE, message, wire_time(since))


def with_doubt(conditions: Sequence[Condition], doubt: Condition | None, now: datetime) -> tuple[Condition, ...]:
    """The conditions of a Cluster with this doubt, or with none. Probes and silence have each their own clock."""
    before = find_condition(conditions, FAILING_CONDITION)
    if doubt is None or (before is not None and _is_silence(before) != _is_silence(doubt)):
        conditions = remove_condition(conditions, FAILING_CONDITION)
    return tuple(conditions) if doubt is None else set_condition(conditions, doubt, now)


def doubt_in(cluster: Cluster) -> Condition | None:
    return find_condition(cluster.status.conditions, FAILING_CONDITION)


def is_failing(cluster: Cluster) -> bool:
    """Tells whether it is Ready, and about to look dead."""
    doubt = doubt_in(cluster)
    return cluster.is_ready and doubt is not None and doubt.status == "True" and doubt.reason not in UNCOLLECTED_REASONS


def is_recovering(cluster: Cluster) -> bool:
    """Tells whether it is not Ready yet, and answers again."""
    doubt = doubt_in(cluster)
    return not cluster.is_ready and doubt is not None and doubt.status == "False"


def is_overdue(cluster: Cluster) -> bool:
    """Tells whether its agent is marked as overdue."""
    doubt = doubt_in(cluster)
    return doubt is not None and _is_silence(doubt)


def remembered(
    cluster: Cluster, now: datetime, thresholds: Thresholds, frequency_seconds: float
) -> HealthMemory | None:
    """The memory that a restart finds in the Cluster: its conditions count as observed before.

    One look alone never completes a threshold: whoever was away for long has not seen that it lasted.
    """
    ready, doubt = cluster.ready, doubt_in(cluster)
    if ready is None:
        return None
    if doubt is None or _is_silence(doubt) or doubt.last_transition_time is None:
        return HealthMemory(ready.status, BEFORE_ALL)
    fails = doubt.status == "True"
    seconds = thresholds.failure_seconds if fails else thresholds.success_seconds
    earliest = now - timedelta(seconds=max(0.0, seconds - frequency_seconds))
    return HealthMemory("False" if fails else "True", max(doubt.last_transition_time, earliest))


def _is_silence(doubt: Condition) -> bool:
    return doubt.reason == AGENT_OVERDUE
