"""State of a rollout, as a binding remembers it in an annotation, and a person's wishes in three others.

Written when a change begins or ends, and when a cluster that has it begins or ceases to serve; at rest never.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, structs

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object, wire_time
from leeward.api.rollout import (
    REVISION_ANNOTATION,
    ROLLOUT_APPROVED_ANNOTATION,
    ROLLOUT_PAUSED_ANNOTATION,
    ROLLOUT_STATE_ANNOTATION,
    ROLLOUT_UNDONE_ANNOTATION,
)
from leeward.api.work import Binding, Work

Instant = Annotated[datetime, Meta(tz=True)]


class RolloutSight(StrEnum):
    """Knowledge of a copy: it surely serves all that it is to run; it can be seen and does not; it cannot be seen."""

    SERVING = "Serving"
    NOT_SERVING = "NotServing"
    UNSEEN = "Unseen"


class Progress(Object, frozen=True):
    """Progress of a cluster that has the new revision: its copy, as seen since then. `updated` is when it got it."""

    sight: RolloutSight
    since: Instant
    updated: Instant


class RolloutStep(Object, frozen=True):
    """Turn of the rollout of a revision, in the words of its condition then; `stage` is empty where it has none."""

    at: Instant
    revision: str
    reason: str
    message: str
    stage: str = ""


class RolloutState(Object, frozen=True):
    """`target` is the revision that is asked for; `proven` the last one that has served everywhere, `previous` the one
    before; empty where none is known. It has `began` once the clusters could be looked at. `failed` is the target that
    was taken back. `ill_before` did not serve when the change came. `clusters` have the target, while it is on its way,
    and `stage` is the furthest that it has reached. `steps` are the last turns of this rollout and of those before."""

    target: str
    proven: str = ""
    previous: str = ""
    began: Instant | None = None
    failed: str = ""
    ill_before: tuple[str, ...] = ()
    clusters: Mapping[str, Progress] = {}
    stage: str = ""
    steps: tuple[RolloutStep, ...] = ()

    @property
    def is_under_way(self) -> bool:
        return self.target != self.proven


class Wishes(Object, frozen=True):
    """Wishes of a person: a pause, the stage that is `approved` as `REVISION/STAGE`, and the revision to be undone."""

    paused: bool = False
    approved: str = ""
    undone: str = ""


def state_of(binding: Binding, now: datetime) -> RolloutState | None:
    """None where nothing is remembered, or nobody can read it. No instant is later than `now`."""
    try:
        state = decode(binding.metadata.annotations[ROLLOUT_STATE_ANNOTATION].encode(), RolloutState)
    except (KeyError, DecodeError):
        return None
    clusters = {
        name: Progress(sight=each.sight, since=min(each.since, now), updated=min(each.updated, now))
        for name, each in state.clusters.items()
    }
    return structs.replace(state, clusters=clusters)


def short(revision: str) -> str:
    """Name of a revision for people."""
    return revision[:10]


def revisions_of_work(work: Work) -> tuple[str, ...]:
    """Revision that the Work was made of, and the one to go back to."""
    return tuple(work.metadata.annotations.get(REVISION_ANNOTATION, "").split()[:2])


def render_state(state: RolloutState) -> str:
    return encode(state).decode()


def wishes_of(binding: Binding) -> Wishes:
    found = binding.metadata.annotations
    return Wishes(
        paused=found.get(ROLLOUT_PAUSED_ANNOTATION) == "true",
        approved=found.get(ROLLOUT_APPROVED_ANNOTATION, ""),
        undone=found.get(ROLLOUT_UNDONE_ANNOTATION, ""),
    )


def progressed(before: Progress | None, sight: RolloutSight, now: datetime) -> Progress:
    """Progress of a cluster that is seen so now."""
    at = wire_time(now)
    if before is None:
        return Progress(sight=sight, since=at, updated=at)
    return before if before.sight is sight else Progress(sight=sight, since=at, updated=before.updated)
