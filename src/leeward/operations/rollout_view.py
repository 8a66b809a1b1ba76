"""View of a rollout: which cluster has which revision, why each other one waits, the next stage and command.

Everything follows from what the binding remembers, its Works and its strategy. Nothing is decided anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.failback import OptionFault
from leeward.api.meta import find_condition
from leeward.api.rollout import (
    ROLLOUT_ANNOTATION,
    ROLLOUT_CONDITION,
    OnFailure,
    RolloutStage,
    RolloutStrategy,
    parse_rollout,
)
from leeward.api.work import Binding, Work
from leeward.core.rollout.rollout_decision import KEPT, Reason, Standing
from leeward.core.rollout.stages import clusters_by_stage
from leeward.core.rollout.state import RolloutSight, RolloutState, RolloutStep, revisions_of_work, short, state_of
from leeward.operations.findings import command_about
from leeward.operations.sentences import moment

_SEEN = {
    RolloutSight.SERVING: "serves with it",
    RolloutSight.NOT_SERVING: "does not serve with it",
    RolloutSight.UNSEEN: "cannot be seen",
}
_TAKEN_BACK = (Reason.ROLLED_BACK, Reason.UNDONE)


class ClusterRevision(msgspec.Struct, frozen=True, rename="camel"):
    """`revision` is the short name of the one of its Work; empty where nobody knows it, or there is no Work yet."""

    cluster: str
    stage: str
    revision: str
    sentence: str


class RolloutView(msgspec.Struct, frozen=True, rename="camel"):
    """`stage` is the one that the change is in. `next` comes at `next_at` by itself; `command` is a person's, with what
    it does as `gain`. Revisions have their short names."""

    reason: str
    message: str
    target: str
    proven: str
    under_way: bool
    stage: str
    began: datetime | None
    clusters: list[ClusterRevision]
    steps: tuple[RolloutStep, ...] = ()
    next: str = ""
    next_at: datetime | None = None
    command: str = ""
    gain: str = ""


def rollout_view(
    binding: Binding, works: Mapping[str, Work], clusters: Mapping[str, Cluster], now: datetime
) -> RolloutView | None:
    """None for a binding whose policy asks for no stages, or that was not looked at yet."""
    state, condition = state_of(binding, now), find_condition(binding.status.conditions, ROLLOUT_CONDITION)
    if state is None or condition is None:
        return None
    read = _Reading(binding, works, clusters, now, state, condition.reason)
    present = read.present()
    next_at, coming = read.coming() if condition.reason == Reason.PROGRESSING else (None, "")
    command, gain = read.command(present)
    return RolloutView(
        reason=condition.reason,
        message=condition.message,
        target=short(state.target),
        proven=short(state.proven),
        under_way=condition.reason != Reason.COMPLETE,
        stage=present,
        began=state.began,
        clusters=list(read.rows(present)),
        steps=state.steps,
        next=coming,
        next_at=next_at,
        command=command,
        gain=gain,
    )


class _Reading:
    def __init__(
        self,
        binding: Binding,
        works: Mapping[str, Work],
        clusters: Mapping[str, Cluster],
        now: datetime,
        state: RolloutState,
        reason: str,
    ) -> None:
        self._binding, self._now, self._state, self._reason = binding, now, state, reason
        self._strategy = _strategy(binding)
        names = [target.name for target in binding.spec.clusters]
        self._revisions = {n: next(iter(revisions_of_work(works[n])), KEPT) if n in works else None for n in names}
        rows = {
            name: Standing(
                revision, RolloutSight.UNSEEN, labels=found.metadata.labels if (found := clusters.get(name)) else {}
            )
            for name, revision in self._revisions.items()
        }
        self._stages: Sequence[tuple[RolloutStage, Sequence[str]]] = (
            tuple(clusters_by_stage(self._strategy, rows, state.target)) if self._strategy is not None else ()
        )

    def present(self) -> str:
        """The stage that waits for a person, or the first that has not served for its time; empty without a change."""
        if not self._state.is_under_way or self._reason in _TAKEN_BACK:
            return ""
        if self._reason == Reason.WAITING:
            return self._state.stage
        behind = (s.name for s, names in self._stages if not all(self._is_done(s, name) for name in names))
        return next(behind, self._state.stage)

    def rows(self, present: str) -> Iterator[ClusterRevision]:
        order = [stage.name for stage, _ in self._stages]
        for stage, names in self._stages or ((None, sorted(self._revisions)),):
            for name in names:
                is_later = stage is not None and present in order and order.index(stage.name) > order.index(present)
                comes = f"its stage comes after {present}" if is_later else "the cluster waits for its turn"
                said = self._said(name, comes)
                yield ClusterRevision(
                    name, stage.name if stage is not None else "", short(self._revisions[name] or ""), said
                )

    def coming(self) -> tuple[datetime | None, str]:
        """The next instant at which time alone changes something, and the change."""
        ends = [
            (found.since + timedelta(seconds=self._seconds(stage, found.sight)), name, stage, found.sight)
            for stage, names in self._stages
            for name in names
            if (found := self._state.clusters.get(name)) is not None and found.sight is not RolloutSight.UNSEEN
        ]
        at, name, stage, sight = min((each for each in ends if each[0] > self._now), default=(None,) * 4)
        if at is None or stage is None or self._strategy is None:
            return None, ""
        target = short(self._state.target)
        if sight is RolloutSight.NOT_SERVING:
            is_back = self._strategy.on_failure is OnFailure.ROLLBACK and self._state.proven
            then = "all clusters go back" if is_back else "no other cluster gets it"
            return at, f"unless revision {target} serves in {name} by then, it has failed, and {then}"
        waits = f"a person may let it leave stage {stage.name}" if stage.pause else "the next cluster gets it"
        return at, f"if revision {target} serves in {name} until then, {waits}"

    def command(self, present: str) -> tuple[str, str]:
        """Command of a person, and its effect; empty where none is called for."""
        undo, resume = (command_about(self._binding, f"rollout {verb}") for verb in ("undo", "resume"))
        match self._reason:
            case Reason.WAITING:
                is_empty = any(stage.name == present and not names for stage, names in self._stages)
                how = "goes on without having been proven in" if is_empty else "leaves"
                return resume, f"revision {short(self._state.target)} {how} stage {present}"
            case Reason.PAUSED:
                return resume, "the rollout goes on"
            case Reason.FAILED if self._state.proven:
                return undo, f"all clusters go back to revision {short(self._state.proven)}"
            case Reason.UNDONE | Reason.ROLLED_BACK:
                return resume, f"revision {short(self._state.target)} is tried again"
            case _:
                return "", ""

    def _seconds(self, stage: RolloutStage, sight: RolloutSight) -> int:
        deadline = self._strategy.deadline_seconds if self._strategy is not None else 0
        return stage.healthy_seconds if sight is RolloutSight.SERVING else deadline

    def _is_done(self, stage: RolloutStage, name: str) -> bool:
        found = self._state.clusters.get(name)
        if found is None or found.sight is not RolloutSight.SERVING:
            return False
        return found.since + timedelta(seconds=stage.healthy_seconds) <= self._now

    def _said(self, name: str, comes: str) -> str:
        revision, found = self._revisions[name], self._state.clusters.get(name)
        if revision is None:
            return "has no copy yet"
        if self._reason in _TAKEN_BACK or not self._state.is_under_way:
            goal = self._state.proven if self._state.is_under_way else self._state.previous
            is_back = self._reason not in _TAKEN_BACK or revision == goal
            return f"has revision {short(revision)}" if is_back else f"goes back to revision {short(goal)}"
        if revision == self._state.target:
            since = f", and {_SEEN[found.sight]} since {moment(found.since, self._now)}" if found is not None else ""
            return f"has the new revision {short(revision)}{since}"
        which = "revision" if revision != self._state.proven else "the proven revision"
        why = "no other cluster gets the new one" if self._reason == Reason.FAILED else comes
        return f"keeps {which} {short(revision) or 'that it has'}: {why}"


def _strategy(binding: Binding) -> RolloutStrategy | None:
    """None where nobody can read it: the condition says so."""
    try:
        return parse_rollout(binding.metadata.annotations.get(ROLLOUT_ANNOTATION, ""))
    except OptionFault:
        return None
