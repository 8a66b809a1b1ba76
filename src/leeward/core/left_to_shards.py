"""Words that a leader and its shards leave to each other, so that each status of a binding has one writer.

    leader → shard   what a decision says in the status stands on the binding, written with the decision itself
    shard → leader   that the Works render a generation stands on the Work that was written last for it

Each rides on a write that is made anyway. A word that is not taken up is written by whoever left it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec.structs import replace

from kubeapi.codec import decode, encode
from kubeapi.meta import wire_time
from leeward.api.meta import find_condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.api.work import Binding, ResourceBindingStatus, Work
from leeward.core.binding_status import status_after
from leeward.core.cluster_health.outage import OutageReport
from leeward.core.copies.evidence import FULLY_APPLIED, is_current
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed

DECIDED_ANNOTATION = "leeward.dev/decided"
"""Annotation on a binding: the status that its leader has left to a shard, as JSON (`Words`)."""
RENDERS_ANNOTATION = "leeward.dev/renders"
"""Annotation on a Work: the generation of its binding that all its Works render, as `GENERATION/UID`."""


_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class Words(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Status of a placement that stands. `affinity`: None where nothing was scheduled. `not_seen`: None where the marks
    stand. `within`: seconds that it may wait in a burst. `burst`: many move with it."""

    generation: int
    at: _Instant
    within: float
    affinity: str | None = None
    not_seen: dict[str, _Instant] | None = None
    burst: bool = False

    def change(self, status: ResourceBindingStatus, binding: Binding) -> ResourceBindingStatus:
        """`status` with the words; as it is where its leader has written them itself, or more."""
        if status.scheduler_observed_generation >= self.generation:
            return status
        clusters, tasks = binding.spec.clusters, binding.spec.graceful_eviction_tasks
        result = None if self.affinity is None else Placed(clusters, self.affinity)
        report = None if self.not_seen is None else OutageReport(not_seen=self.not_seen)
        return status_after(status, binding, Decision(clusters, tasks, result, outage=report), self.at)


def leave_words(binding: Binding, decision: Decision, now: datetime, within: float, *, burst: bool) -> str:
    """The value of the annotation; empty where there is more to say than `Words` hold. `binding` is as it will be."""
    result, outage = decision.result, decision.outage
    is_more = decision.held or decision.quota_refusal or decision.foreign or decision.foreign_held
    if is_more or not isinstance(result, Placed | None) or (outage is not None and outage.outlooks):
        return ""
    affinity, not_seen = result and result.affinity_name, outage and dict(outage.not_seen)
    return encode(Words(binding.metadata.generation, now, within, affinity, not_seen, burst)).decode()


def words_left(binding: Binding) -> Words | None:
    """Words about the binding's present generation that its status does not say yet."""
    found, generation = binding.metadata.annotations.get(DECIDED_ANNOTATION), binding.metadata.generation
    if not found or binding.status.scheduler_observed_generation >= generation:
        return None
    with suppress(msgspec.MsgspecError, OverflowError):
        words = decode(found.encode(), Words)
        for instant in (words.at, *(words.not_seen or {}).values()):
            wire_time(instant)
        return words if words.generation == generation else None
    return None


def renders(binding: Binding) -> Mapping[str, str]:
    """Annotations of the Work that is written last, when all others render the binding's present generation."""
    return {RENDERS_ANNOTATION: f"{binding.metadata.generation}/{binding.metadata.uid}"}


def as_rendered(binding: Binding, works: Iterable[Work]) -> Binding:
    """The binding, with the generation that its shard is about to say that the Works render.

    That they are applied is not said yet. No override has failed: a Work that could not be rendered is none of them.
    """
    applied, said = find_condition(binding.status.conditions, FULLY_APPLIED), renders(binding).items()
    if applied is None or is_current(binding) or not any(said <= work.metadata.annotations.items() for work in works):
        return binding
    applied = replace(applied, status="Unknown", observed_generation=binding.metadata.generation)
    rest = (each for each in binding.status.conditions if each.type not in (FULLY_APPLIED, OVERRIDE_FAILED_CONDITION))
    return replace(binding, status=replace(binding.status, conditions=(*rest, applied)))
