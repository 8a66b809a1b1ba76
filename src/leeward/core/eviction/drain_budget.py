"""Budget of a drain: the number of bindings that may be on their way out of a drained cluster at the same time."""

from leeward.api.cluster import Cluster
from leeward.api.names import DRAIN_BUDGET_ANNOTATION
from leeward.core.cluster_health.brake import looks_dead

MOST_DIGITS = 9
"""Most digits of a budget: more is no bound for anybody, and Python reads no number of thousands of digits."""


def drain_budget(cluster: Cluster | None) -> int | None:
    """None is any number, as for a cluster that looks dead: it is left as others are."""
    text = "" if cluster is None else cluster.metadata.annotations.get(DRAIN_BUDGET_ANNOTATION, "")
    if cluster is None or not text.isdecimal() or len(text) > MOST_DIGITS or looks_dead(cluster):
        return None
    return max(int(text), 1)
