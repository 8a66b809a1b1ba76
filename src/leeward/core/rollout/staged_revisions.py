"""Decision of a rollout: the revision that each cluster is to have now, and why not all of them have the new one.

    a cluster without the application     the proven revision: an outage is no time for experiments
    a cluster of an earlier stage, or
    of this one, while enough others serve   the new one
    any other                             what it has

The new revision reaches a stage when each cluster of the stages before serves with it for the time of its stage. What a
cluster serves says the law (`core.copies`): `at_least >= need`, by fresh reports. A copy that cannot be seen neither
serves nor has failed: it stops the rollout, and time does not count for it. A copy that is seen, and does not serve
until the deadline, has failed.

A copy that serves nothing, and did not serve when the change came, loses nothing by an update: it does not wait for
others of its stage, and stops nobody, since the change may be its cure. So does one that a superseded change has left
behind. A replacement that starts with the proven revision is none of them: it waits, and counts as unavailable.
A stage that was reached, and lost its clusters before it was done, holds the change until a person lets it go on.
Nothing else holds or starts by a clock. A scale-out is no change, nor is a failover. Holds: S1, S20.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from msgspec import structs

from kubeapi.meta import wire_time
from leeward.api.rollout import OnFailure, RolloutStage, RolloutStrategy
from leeward.core.rollout.rollout_decision import KEPT, Reason, RolloutDecision, Standing, as_they_are, asked_for
from leeward.core.rollout.stages import clusters_by_stage, furthest
from leeward.core.rollout.state import Progress, RolloutSight, RolloutState, Wishes, progressed, short
from leeward.core.wording import first_of

NO_WISHES = Wishes()


def decide_rollout(
    strategy: RolloutStrategy,
    before: RolloutState | None,
    target: str,
    standings: Mapping[str, Standing],
    wishes: Wishes,
    now: datetime,
    known: Collection[str] = (),
    blind: str = "",
) -> RolloutDecision:
    """`target` is the revision of the template and the policies as they are; of `known` ones there are contents.
    `blind` says why nothing that is seen may be believed now."""
    is_new = before is not None and (before.target != target or before.began is None)
    if blind and is_new and wishes.undone != target:
        return undecided(before, target, standings, Reason.OUTAGE, blind, wishes, known)
    state = _began(before, target, standings, wishes, now, known)
    if not state.is_under_way and wishes.undone != target:
        return _complete(state, standings)
    if target in (state.failed, wishes.undone):
        return _taken_back(state, standings, known, undone=wishes.undone == target)
    if blind:
        return undecided(state, target, standings, Reason.OUTAGE, blind)
    progress = {
        name: progressed(state.clusters.get(name), each.sight, now)
        for name, each in standings.items()
        if each.is_target and each.revision == target
    }
    has_copy = {name for name, each in standings.items() if each.is_target and each.revision is not None}
    ill = tuple(name for name in state.ill_before if name in has_copy)
    state = structs.replace(state, clusters=progress, ill_before=ill)
    if not wishes.paused and (failed := _failed(state, strategy, now)):
        if strategy.on_failure is OnFailure.ROLLBACK and state.proven in known:
            return _taken_back(structs.replace(state, failed=target), standings, known, undone=False)
        return _failure(state, standings, failed, strategy)
    return _Advance(strategy, state, standings, wishes, now).decide()


def undecided(
    before: RolloutState | None,
    target: str,
    standings: Mapping[str, Standing],
    reason: Reason,
    message: str,
    wishes: Wishes = NO_WISHES,
    known: Collection[str] = (),
) -> RolloutDecision:
    """Decision while nothing can be judged: each cluster keeps what it has. A new target is remembered all the same, so
    that a person can take it back."""
    state = asked_for(before, target, standings, wishes, known)
    return RolloutDecision(state, as_they_are(state, standings), reason, message)


def _began(
    before: RolloutState | None,
    target: str,
    standings: Mapping[str, Standing],
    wishes: Wishes,
    now: datetime,
    known: Collection[str],
) -> RolloutState:
    """The state with this target. A first deployment goes everywhere: there is nothing yet that it could break."""
    if before is not None and before.target == target and before.began is not None:
        return before
    ill = tuple(sorted(n for n, each in standings.items() if each.is_target and each.sight is RolloutSight.NOT_SERVING))
    if before is not None:
        return structs.replace(
            asked_for(before, target, standings, wishes, known), began=wire_time(now), ill_before=ill
        )
    is_first = all(each.revision in (None, target) for each in standings.values())
    return RolloutState(target=target, proven=target if is_first else "", began=wire_time(now), ill_before=ill)


def _complete(state: RolloutState, standings: Mapping[str, Standing]) -> RolloutDecision:
    rest = structs.replace(state, ill_before=(), clusters={}, failed="", stage="")
    message = f"All clusters are to have revision {short(state.target)}."
    return RolloutDecision(rest, dict.fromkeys(standings, state.target), Reason.COMPLETE, message)


def _taken_back(
    state: RolloutState, standings: Mapping[str, Standing], known: Collection[str], *, undone: bool
) -> RolloutDecision:
    """Every cluster gets the revision before at once: it has served already."""
    goal = state.proven if state.is_under_way else state.previous
    goal = goal if goal in known else ""
    reason = Reason.UNDONE if undone else Reason.ROLLED_BACK
    what = "was rolled back" if undone else "has failed and was rolled back"
    if not goal:
        kept = {name: state.target if each.revision is None else each.revision for name, each in standings.items()}
        message = f"Revision {short(state.target)} {what}, and no earlier revision is known: change the template."
        return RolloutDecision(state, kept, reason, message)
    wanted = {n: KEPT if each.revision == KEPT else goal for n, each in standings.items()}
    message = (
        f"Revision {short(state.target)} {what}: Leeward sets revision {short(goal)} in all clusters. "
        f"To try {short(state.target)} again, run `leeward rollout resume`."
    )
    return RolloutDecision(structs.replace(state, clusters={}, stage=""), wanted, reason, message)


def _failed(state: RolloutState, strategy: RolloutStrategy, now: datetime) -> Sequence[str]:
    deadline = timedelta(seconds=strategy.deadline_seconds)
    return sorted(
        name
        for name, each in state.clusters.items()
        if each.sight is RolloutSight.NOT_SERVING and now - each.since >= deadline
    )


def _failure(
    state: RolloutState, standings: Mapping[str, Standing], failed: Sequence[str], strategy: RolloutStrategy
) -> RolloutDecision:
    message = (
        f"Revision {short(state.target)} does not serve in {first_of(failed)} after {strategy.deadline_seconds} s: no "
        "other cluster gets it. Correct the template, or run `leeward rollout undo`."
    )
    return RolloutDecision(state, as_they_are(state, standings), Reason.FAILED, message)


@dataclass(frozen=True, slots=True)
class _Advance:
    strategy: RolloutStrategy
    state: RolloutState
    standings: Mapping[str, Standing]
    wishes: Wishes
    now: datetime

    def decide(self) -> RolloutDecision:
        """The first stage that has not served for its time is the present one."""
        targets = {name: each for name, each in self.standings.items() if each.is_target}
        for stage, names in clusters_by_stage(self.strategy, targets, self.state.target):
            if not names and self.state.stage == stage.name and not self._is_approved(stage):
                return self._emptied(stage)
            behind = [name for name in names if targets[name].revision != self.state.target]
            if behind:
                return self._update(stage, names, behind)
            if waits := [name for name in names if not self._has_served(stage, name)]:
                return self._await(stage, waits)
            if stage.pause and names and not self._is_approved(stage):
                message = f"Stage {stage.name} serves: `leeward rollout resume` lets revision {self._target} go on."
                return self._held(Reason.WAITING, message, stage)
        proven = structs.replace(self.state, proven=self.state.target, previous=self.state.proven)
        return _complete(proven, self.standings)

    def _is_approved(self, stage: RolloutStage) -> bool:
        """Tells whether a person let this revision leave the stage, or a later one: only the last approval is kept."""
        revision, _, name = self.wishes.approved.partition("/")
        return revision == self.state.target and furthest(self.strategy, name, stage.name) == name

    def _update(self, stage: RolloutStage, names: Sequence[str], behind: Sequence[str]) -> RolloutDecision:
        if self.wishes.paused:
            return self._paused(stage)
        down = self._down(stage, names)
        room = stage.may_be_unavailable(len(names)) - len(down)
        wanted = as_they_are(self.state, self.standings)
        for name in sorted(behind, key=lambda name: (self._sight(name) is RolloutSight.SERVING, name)):
            if self.standings[name].revision is None:
                continue
            if self._loses_nothing(name):
                wanted[name] = self.state.target
            elif self._may_be_updated(name) and room > 0:
                wanted[name] = self.state.target
                room -= 1
        updated = {name for name in behind if wanted[name] == self.state.target}
        if updated:
            begun = {
                **self.state.clusters,
                **{n: progressed(None, RolloutSight.NOT_SERVING, self.now) for n in updated},
            }
            advanced = replace(self, state=structs.replace(self.state, clusters=begun))
            return advanced._held(
                Reason.PROGRESSING, f"Stage {stage.name} gets revision {self._target}.", stage, wanted
            )
        return self._stopped(stage, down, behind)

    def _stopped(self, stage: RolloutStage, down: Sequence[str], behind: Sequence[str]) -> RolloutDecision:
        if unseen := [name for name in {*down, *behind} if self._sight(name) is RolloutSight.UNSEEN]:
            return self._outage(stage, sorted(unseen))
        mine = [name for name in down if name in self.state.clusters]
        if len(mine) == len(down):
            message = (
                f"Stage {stage.name}: revision {self._target} is to serve in {first_of(mine)} for "
                f"{stage.healthy_seconds} s before the next cluster gets it."
            )
            return self._held(Reason.PROGRESSING, message, stage)
        others = sorted(set(down) - set(mine))
        message = f"Stopped in stage {stage.name}: {first_of(others)} does not serve. Others keep their revision."
        return self._held(Reason.NOT_SERVING, message, stage)

    def _await(self, stage: RolloutStage, waits: Sequence[str]) -> RolloutDecision:
        if self.wishes.paused:
            return self._paused(stage)
        if unseen := [name for name in waits if self._sight(name) is RolloutSight.UNSEEN]:
            return self._outage(stage, unseen)
        message = (
            f"Stage {stage.name} has revision {self._target}, which is to serve in {first_of(waits)} for "
            f"{stage.healthy_seconds} s."
        )
        return self._held(Reason.PROGRESSING, message, stage)

    def _emptied(self, stage: RolloutStage) -> RolloutDecision:
        """The hold of a stage that lost its clusters before it was done: it has proven nothing."""
        if self.wishes.paused:
            return self._paused(stage)
        message = (
            f"Stage {stage.name} lost its last cluster before it was done, as by a failover. It goes on with its next "
            f"cluster; `leeward rollout resume` lets revision {self._target} go on without that."
        )
        return self._held(Reason.WAITING, message, stage)

    def _outage(self, stage: RolloutStage, unseen: Sequence[str]) -> RolloutDecision:
        message = f"Stopped in stage {stage.name}: {first_of(unseen)} cannot be seen. Each cluster keeps its revision."
        return self._held(Reason.OUTAGE, message, stage)

    def _down(self, stage: RolloutStage, names: Sequence[str]) -> Sequence[str]:
        """Targets that count as unavailable: they are not known to serve, or have not served for the time of the stage.
        Others are hoped to be cured by the change."""
        return [
            name
            for name, each in self.standings.items()
            if each.is_target and (self._is_down(name, each) or (name in names and not self._is_done(stage, name)))
        ]

    def _is_down(self, name: str, each: Standing) -> bool:
        if each.sight is not RolloutSight.NOT_SERVING:
            return each.sight is RolloutSight.UNSEEN
        is_old = each.revision in (self.state.proven, KEPT, None)
        return each.revision == self.state.target or (is_old and not self._was_ill(name))

    def _is_done(self, stage: RolloutStage, name: str) -> bool:
        """Tells whether it has not begun, or has served for its time."""
        return name not in self.state.clusters or self._has_served(stage, name)

    def _was_ill(self, name: str) -> bool:
        return name in self.state.ill_before

    def _may_be_updated(self, name: str) -> bool:
        """Tells whether it serves, or does not since before the change, or by a superseded or unknown one."""
        each = self.standings[name]
        if each.sight is not RolloutSight.NOT_SERVING:
            return each.sight is RolloutSight.SERVING
        return self._was_ill(name) or each.revision == KEPT or each.revision != self.state.proven

    def _loses_nothing(self, name: str) -> bool:
        each = self.standings[name]
        return each.sight is RolloutSight.NOT_SERVING and not each.serves_some and self._may_be_updated(name)

    def _has_served(self, stage: RolloutStage, name: str) -> bool:
        found = self.state.clusters[name]
        return found.sight is RolloutSight.SERVING and self.now - found.since >= timedelta(
            seconds=stage.healthy_seconds
        )

    def _sight(self, name: str) -> RolloutSight:
        return self.standings[name].sight

    @property
    def _target(self) -> str:
        return short(self.state.target)

    def _paused(self, stage: RolloutStage) -> RolloutDecision:
        message = f"Paused in stage {stage.name}: `leeward rollout resume` lets revision {self._target} go on."
        return self._held(Reason.PAUSED, message, stage)

    def _held(
        self, reason: Reason, message: str, stage: RolloutStage, wanted: Mapping[str, str] | None = None
    ) -> RolloutDecision:
        revisions = wanted if wanted is not None else as_they_are(self.state, self.standings)
        state = structs.replace(self.state, stage=furthest(self.strategy, self.state.stage, stage.name))
        return RolloutDecision(state, revisions, reason, message, stage.name, self._wake_at(stage))

    def _wake_at(self, stage: RolloutStage) -> datetime | None:
        found = (self._ends_at(each, stage) for each in self.state.clusters.values())
        return min((at for at in found if at is not None and at > self.now), default=None)

    def _ends_at(self, found: Progress, stage: RolloutStage) -> datetime | None:
        """Instant at which a cluster has served for its time, or has failed."""
        if found.sight is RolloutSight.UNSEEN:
            return None
        seconds = stage.healthy_seconds if found.sight is RolloutSight.SERVING else self.strategy.deadline_seconds
        return found.since + timedelta(seconds=seconds)
