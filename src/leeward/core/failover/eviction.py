"""What must leave a cluster: NoExecute taints against tolerations, to the second.

Karmada: pkg/controllers/cluster (taint manager), pkg/util/helper (taints); same, proven by its recorded cases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from leeward.api.core import Taint, Toleration
from leeward.api.policy import FailoverBehavior
from leeward.core.failover.taints import NO_EXECUTE
from leeward.core.toleration import tolerates


@dataclass(frozen=True, slots=True)
class Stay:
    """How long a copy may stay under the taints: evict when `due` has come; None is for ever.

    `untolerated` names the taints that end it, for people.
    """

    due: datetime | None
    untolerated: tuple[Taint, ...] = ()

    def is_over(self, now: datetime) -> bool:
        return self.due is not None and self.due <= now


def decide_stay(taints: Sequence[Taint], tolerations: Sequence[Toleration], now: datetime) -> Stay:
    """A taint without a toleration ends the stay now. Else it ends at the earliest `timeAdded + tolerationSeconds`

    over all pairs of a taint and a toleration that was used and tolerates it.
    """
    harmful = [taint for taint in taints if taint.effect == NO_EXECUTE]
    used: list[Toleration] = []
    for taint in harmful:
        toleration = next((t for t in tolerations if tolerates(t, taint)), None)
        if toleration is None:
            return Stay(now, tuple(t for t in harmful if not any(tolerates(o, t) for o in tolerations)))
        used.append(toleration)
    ends = [
        (taint.time_added + timedelta(seconds=toleration.toleration_seconds), taint)
        for toleration in used
        if toleration.toleration_seconds is not None
        for taint in harmful
        if taint.time_added is not None and tolerates(toleration, taint)
    ]
    if not ends:
        return Stay(None)
    due = min(end for end, _ in ends)
    return Stay(due, tuple(dict.fromkeys(taint for end, taint in ends if end == due)))


PurgeMode = Literal["Gracefully", "Directly"]


def purge_mode(failover: FailoverBehavior | None, default: str) -> PurgeMode:
    """`Gracefully` or `Directly`: the policy's word, else the flag's."""
    if failover is not None and failover.cluster is not None:
        return failover.cluster.purge_mode or "Gracefully"
    return "Directly" if default == "Directly" else "Gracefully"
