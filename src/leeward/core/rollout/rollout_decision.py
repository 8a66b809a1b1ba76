"""Decision about a rollout, and the standings of clusters on which it is made."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from msgspec import structs

from kubeapi.meta import wire_time
from leeward.api.meta import Condition
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.core.rollout.state import RolloutSight, RolloutState, RolloutStep, Wishes

MOST_STEPS = 20
"""Turns that a binding remembers of its rollouts: the last ones."""
KEPT = ""
"""Revision of a Work that nobody knows: it stays as it is, but for its replicas."""


class Reason(StrEnum):
    """Reason of the condition `leeward.dev/Rollout`."""

    COMPLETE = "Complete"
    PROGRESSING = "Progressing"
    WAITING = "WaitingForApproval"
    PAUSED = "Paused"
    OUTAGE = "ClusterOutage"
    NOT_SERVING = "NotServing"
    FAILED = "Failed"
    ROLLED_BACK = "RolledBack"
    UNDONE = "Undone"
    UNREADABLE = "Unreadable"


STOPPED = frozenset((Reason.OUTAGE, Reason.NOT_SERVING, Reason.FAILED, Reason.ROLLED_BACK, Reason.UNREADABLE))
"""Reasons of which somebody wants to hear."""
FOR_PEOPLE = frozenset((Reason.WAITING, Reason.NOT_SERVING, Reason.FAILED, Reason.UNREADABLE))
"""Reasons that last until a person does something, and of which nobody has said so already."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster's copy: the revision of its Work, None where it has none, and `KEPT` where nobody knows it. Only of a
    target of the binding the rollout waits for `sight`. `serves_some` tells whether an update may cost service."""

    revision: str | None
    sight: RolloutSight
    is_target: bool = True
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    serves_some: bool = False


@dataclass(frozen=True, slots=True)
class RolloutDecision:
    """`revisions` are those that the clusters are to have. `wake_at` is when time alone changes something."""

    state: RolloutState
    revisions: Mapping[str, str]
    reason: Reason
    message: str
    stage: str = ""
    wake_at: datetime | None = None

    @property
    def condition(self) -> Condition:
        status = "False" if self.reason is Reason.COMPLETE else "True"
        return Condition(ROLLOUT_CONDITION, status, self.reason, self.message)


def asked_for(
    before: RolloutState | None, target: str, standings: Mapping[str, Standing], wishes: Wishes, known: Collection[str]
) -> RolloutState:
    """The state with this target, which has not begun where it is new. Where no copy is left, it is a first deployment.

    After a proven revision that was taken back the one before is proven: it runs, where its contents are known."""
    if before is None:
        return RolloutState(target=target)
    if before.target == target:
        return before
    if before.proven not in known and all(each.revision is None for each in standings.values()):
        return RolloutState(target=target, proven=target, steps=before.steps)
    is_back = wishes.undone == before.proven and before.previous in known
    proven = before.previous if is_back else before.proven
    return RolloutState(target=target, proven=proven, previous=before.previous, steps=before.steps)


def as_they_are(state: RolloutState, standings: Mapping[str, Standing]) -> dict[str, str]:
    """Each cluster with the revision that it has. One without any gets the proven one, which is the new one where no
    other is known."""
    return {
        n: (state.proven or state.target) if each.revision is None else each.revision for n, each in standings.items()
    }


def remembered(decision: RolloutDecision, now: datetime) -> RolloutState:
    """State of a decision with its turn, if it is one. The first revision of all is none."""
    state, told = decision.state, (decision.state.target, decision.reason, decision.stage)
    last = [(each.revision, each.reason, each.stage) for each in state.steps[-1:]]
    if told in last or (not last and decision.reason is Reason.COMPLETE):
        return state
    step = RolloutStep(
        at=wire_time(now), revision=state.target, reason=decision.reason, message=decision.message, stage=decision.stage
    )
    return structs.replace(state, steps=(*state.steps, step)[-MOST_STEPS:])
