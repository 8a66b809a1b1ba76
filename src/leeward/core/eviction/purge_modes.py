"""Purge modes: how an old copy goes when an application leaves a cluster. One row for each.

Karmada: `PurgeMode` of the policy API; a task that says nothing goes Gracefully.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from leeward.api.policy import FailoverBehavior
from leeward.api.work import GracefulEvictionTask


class PurgeMode(StrEnum):
    GRACEFULLY = "Gracefully"
    DIRECTLY = "Directly"
    NEVER = "Never"


@dataclass(frozen=True, slots=True)
class PurgeRules:
    """What a mode means.

    keeps_copy        the old copy's Work stays until its eviction has ended; else it is deleted at once, and no new
                      copy is made before it is known to be gone (S7)
    needs_place       nothing leaves without a place to go (S11), and a cluster that is held down for flapping is only
                      a last resort (C1)
    withdraws         the eviction is taken back when its cluster is well again
    moves_on          a replacement that never becomes healthy is left for the next cluster
    has_grace         the policy's grace period counts; else that of the flags
    suppresses        the old copy stays until somebody confirms that it may go
    """

    keeps_copy: bool
    needs_place: bool
    withdraws: bool
    moves_on: bool
    has_grace: bool
    suppresses: bool


_GRACEFULLY = PurgeRules(
    keeps_copy=True, needs_place=True, withdraws=True, moves_on=True, has_grace=True, suppresses=False
)
_DIRECTLY = PurgeRules(
    keeps_copy=False, needs_place=False, withdraws=False, moves_on=True, has_grace=False, suppresses=False
)
_NEVER = PurgeRules(
    keeps_copy=True, needs_place=True, withdraws=False, moves_on=False, has_grace=False, suppresses=True
)


def rules_of(mode: PurgeMode) -> PurgeRules:
    match mode:
        case PurgeMode.GRACEFULLY:
            return _GRACEFULLY
        case PurgeMode.DIRECTLY:
            return _DIRECTLY
        case PurgeMode.NEVER:
            return _NEVER
        case _:
            assert_never(mode)


def rules_of_task(task: GracefulEvictionTask) -> PurgeRules:
    return rules_of(PurgeMode(task.purge_mode or PurgeMode.GRACEFULLY))


def purge_mode_of(failover: FailoverBehavior | None, default: PurgeMode) -> PurgeMode:
    """How taints evict: the policy's word, else the flag's."""
    if failover is not None and failover.cluster is not None:
        return PurgeMode(failover.cluster.purge_mode or PurgeMode.GRACEFULLY)
    return PurgeMode(default)
