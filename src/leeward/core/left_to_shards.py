"""Words that a leader leaves to its shards, so that each status of a binding has one writer.

The status that a decision makes stands on the binding, written with the decision itself. The shard that owns the
binding writes it with its own. Words that no shard takes up are written by the leader.
"""

from contextlib import suppress
from datetime import datetime
from typing import Annotated

import msgspec

from kubeapi.codec import encode
from kubeapi.meta import wire_time
from leeward.api.work import Binding, ResourceBindingStatus
from leeward.core.binding_status import status_after
from leeward.core.cluster_health.outage import OutageReport
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed

DECIDED_ANNOTATION = "leeward.dev/decided"
"""Annotation on a binding: the status that its leader has left to a shard, as JSON (`Words`)."""


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
        words = msgspec.json.decode(found, type=Words)
        for instant in (words.at, *(words.not_seen or {}).values()):
            wire_time(instant)
        return words if words.generation == generation else None
    return None
