"""A cluster that comes and goes takes nothing in for a while: its hold-down, the longer the more often it has died.

    returns from NoExecute -> score, which halves every `half_life_seconds`, grows by one
    score of 1.5 or more   -> taint leeward.dev/flapping:NoSchedule for `first_seconds`, doubled with each point
                              above 2, but never for longer than `longest_seconds`

A first outage costs nothing, nor does one in six hours. Score and end lie in the Cluster (an annotation), so that a
restart neither forgets nor restarts them. Taking the taint away by hand ends the hold-down until the next return; a
policy that tolerates the taint is not concerned by it. Copies in the cluster stay; nothing here evicts.

How often a workload can move with this is derived, and the other ways are weighed, in
`docs/decisions/0009-flapping.md`. Karmada has no such thing. Holds: C1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.core import Taint, Toleration
from kubeapi.meta import Object, wire_time
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_ANNOTATION, FLAPPING_TAINT
from leeward.api.policy import Placement
from leeward.api.work import ResourceBindingSpec
from leeward.core.cluster_health.condition_taints import NO_EXECUTE, NO_SCHEDULE, key_of, owned_by_condition
from leeward.core.cluster_health.watched_time import ALWAYS, CLOCKS_APART, WatchedTime

FLAPS_FROM_SCORE = 1.5
FORGOTTEN_BELOW_SCORE = 0.1


@dataclass(frozen=True, slots=True)
class HoldDownSettings:
    """`enabled` False: none, as in Karmada."""

    enabled: bool = True
    half_life_seconds: float = 6 * 3600
    first_seconds: float = 3600
    longest_seconds: float = 6 * 3600


class Flapping(Object, frozen=True):
    """The score as it was `at` the last return, and `until` when the cluster is held down (None: it is not)."""

    score: float
    at: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class HoldDown:
    """Values that `spec.taints` and our annotation are to have (None: removed). `began` is a hold-down that begins."""

    taints: tuple[Taint, ...]
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    wake_at: datetime | None = None
    began: Flapping | None = None


def decide_hold_down(
    cluster: Cluster,
    taints: tuple[Taint, ...],
    now: datetime,
    settings: HoldDownSettings = HoldDownSettings(),
    watched: WatchedTime = ALWAYS,
) -> HoldDown:
    """`taints` are those that the cluster is about to have by its condition. Only watched time counts (S13)."""
    known = parse_flapping(cluster)
    memory = _by_watched_time(known, now, watched)
    if settings.enabled and _has_returned(cluster, taints):
        return _return(memory, taints, now, settings)
    if memory is None:
        return HoldDown(taints)
    if known is not None and known.at > now + CLOCKS_APART:
        return HoldDown(taints, _annotation(memory), memory.until)
    if memory.until is not None and now >= memory.until:
        over = msgspec.structs.replace(memory, until=None)
        return HoldDown(_without_hold_down(taints), _annotation(over), _forgotten_at(over, settings))
    if now >= _forgotten_at(memory, settings):
        return HoldDown(taints, {FLAPPING_ANNOTATION: None})
    return HoldDown(taints, wake_at=memory.until or _forgotten_at(memory, settings))


def parse_flapping(cluster: Cluster) -> Flapping | None:
    """None where there is nothing to remember, or nobody can read it."""
    try:
        return decode(cluster.metadata.annotations[FLAPPING_ANNOTATION].encode(), Flapping)
    except (KeyError, DecodeError):
        return None


def score_at(memory: Flapping | None, now: datetime, half_life_seconds: float) -> float:
    """The score, as far as it has not decayed."""
    if memory is None:
        return 0
    return memory.score * 0.5 ** (max(0.0, (now - memory.at).total_seconds()) / half_life_seconds)


def hold_down_seconds(score: float, settings: HoldDownSettings) -> float:
    """Seconds for which a cluster is held down that has returned with this score."""
    if score < FLAPS_FROM_SCORE:
        return 0
    return min(settings.longest_seconds, settings.first_seconds * 2 ** (min(score, 64) - 2))


def tolerating_hold_down(spec: ResourceBindingSpec) -> ResourceBindingSpec:
    """`spec` for the question where copies could go if no cluster were held down."""
    placement = spec.placement or Placement()
    tolerations = (*placement.cluster_tolerations, Toleration(key=FLAPPING_TAINT, operator="Exists"))
    placement = msgspec.structs.replace(placement, cluster_tolerations=tolerations)
    return msgspec.structs.replace(spec, placement=placement)


def is_held_down(cluster: Cluster) -> bool:
    return any(taint.key == FLAPPING_TAINT for taint in cluster.taints)


def _by_watched_time(memory: Flapping | None, now: datetime, watched: WatchedTime) -> Flapping | None:
    """`memory` as if nothing had been missed since. A beginning in the future, by a clock that was set back since, is
    now."""
    if memory is None:
        return None
    at = min(watched.moved(memory.at), now)
    until = None if memory.until is None else memory.until + (at - memory.at)
    return msgspec.structs.replace(memory, at=at, until=until)


def _return(memory: Flapping | None, taints: tuple[Taint, ...], now: datetime, settings: HoldDownSettings) -> HoldDown:
    score = round(score_at(memory, now, settings.half_life_seconds) + 1, 3)
    seconds = hold_down_seconds(score, settings)
    until = wire_time(now) + timedelta(seconds=round(seconds)) if seconds else None
    flapping = Flapping(score, wire_time(now), until)
    if until is None:
        return HoldDown(_without_hold_down(taints), _annotation(flapping), _forgotten_at(flapping, settings))
    taint = Taint(key=FLAPPING_TAINT, effect=NO_SCHEDULE, time_added=wire_time(now))
    return HoldDown((*_without_hold_down(taints), taint), _annotation(flapping), until, flapping)


def _has_returned(cluster: Cluster, taints: Sequence[Taint]) -> bool:
    """Tells whether the automatic NoExecute taint goes with this change, because the cluster is Ready."""
    automatic = {key for key in owned_by_condition(cluster) if key[1] == NO_EXECUTE}
    recorded = tuple(entry.taint for entry in cluster.taint_record.entries)
    before, after = ({key_of(taint) for taint in some} for some in ((*cluster.spec.taints, *recorded), taints))
    return cluster.is_ready and bool(automatic & before) and not automatic & after


def _without_hold_down(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return tuple(taint for taint in taints if key_of(taint) != (FLAPPING_TAINT, NO_SCHEDULE))


def _annotation(flapping: Flapping) -> Mapping[str, str | None]:
    return {FLAPPING_ANNOTATION: encode(flapping).decode()}


def _forgotten_at(memory: Flapping, settings: HoldDownSettings) -> datetime:
    """The instant at which so little is left of the score that it no longer matters."""
    halvings = 0
    while memory.score * 0.5**halvings >= FORGOTTEN_BELOW_SCORE:
        halvings += 1
    return memory.at + timedelta(seconds=halvings * settings.half_life_seconds)
