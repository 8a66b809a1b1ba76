"""Record of the taints that the control plane has set on a Cluster, and since when (condition `leeward.dev/Tainted`).

    the outage counts since T; Ready is False since T; KEY:EFFECT since T; KEY=VALUE:EFFECT since T by policy

Whoever applies `spec.taints` as a list takes taints of others off. The status is nobody's but ours, so that the record
stays, and with it the time at which evictions are due. Taints in force are those of the spec and those of the record:

    an automatic taint (not-ready, unreachable)   in force in the outage of the record, since the recorded time
    a taint of a ClusterTaintPolicy               in force if the annotation `leeward.dev/policy-taints` lists it, too
    any other key in the record                   ignored: an agent may write the status of its own Cluster

Reads and renders; what is recorded decides `leeward.core.cluster_health.standing_taints`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from msgspec import structs

from kubeapi.core import Taint
from kubeapi.meta import format_time, parse_time, wire_time
from leeward.api.names import CONDITION_TAINT_KEYS

_OUTAGE = "the outage counts since "
_BY_POLICY = " by policy"
_ENTRY = re.compile(
    r"(?P<key>[^\s=:]+)(?:=(?P<value>[^\s:]*))?:(?P<effect>[A-Za-z]+)(?: since (?P<since>\S+))?(?P<policy> by policy)?"
)
_READY = re.compile(r"Ready is (?P<status>False|Unknown) since (?P<since>\S+)")
_MOST_ENTRIES = 100
_BLOCKING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class RecordedTaint:
    """`by_policy`: a ClusterTaintPolicy has added it; else the condition Ready calls for it."""

    taint: Taint
    by_policy: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.taint.key, self.taint.effect


@dataclass(frozen=True, slots=True)
class TaintRecord:
    """`outage_since` is the start of the outage's clock; `outage` is the status of `Ready`, and since when."""

    outage_since: datetime | None = None
    entries: tuple[RecordedTaint, ...] = ()
    outage: tuple[str, datetime] | None = None

    def __bool__(self) -> bool:
        return bool(self.entries) or self.outage_since is not None

    def find(self, key: tuple[str, str], *, by_policy: bool) -> Taint | None:
        found = (entry.taint for entry in self.entries if entry.key == key and entry.by_policy == by_policy)
        return next(found, None)

    def limited_to(self, taints: Iterable[Taint]) -> "TaintRecord":
        """The record of those of its taints that are among `taints`, with their times."""
        wanted = {(taint.key, taint.effect): taint for taint in taints}
        kept = tuple(RecordedTaint(wanted[each.key], each.by_policy) for each in self.entries if each.key in wanted)
        is_outage = any(key in CONDITION_TAINT_KEYS for key, _ in wanted)
        return TaintRecord(self.outage_since if is_outage else None, kept, self.outage if is_outage else None)

    def of_outage(self, status: str, turned_at: datetime | None, clock: str) -> "TaintRecord":
        """The part of the record that counts while `Ready` is not True: of another outage that of policies alone.

        An outage goes on with another status if the annotation `clock` dates it as the record does. A record that does
        not tell its outage is of the present one if its automatic taints are dated after `Ready` turned.
        """
        if turned_at is None:
            return self
        dates = [e.taint.time_added for e in self.entries if not e.by_policy and e.taint.time_added is not None]
        if self.outage is None:
            is_present = bool(dates) and wire_time(turned_at) <= min(dates)
        elif self.outage[0] == status:
            is_present = self.outage[1] == wire_time(turned_at)
        else:
            is_present = self.outage_since is not None and instant_in(clock) == self.outage_since
        return self if is_present else TaintRecord(None, tuple(entry for entry in self.entries if entry.by_policy))


NO_RECORD = TaintRecord()


@lru_cache(maxsize=1024)
def parse_record(message: str) -> TaintRecord:
    """Reads a record; what nobody can read is none."""
    since: datetime | None = None
    outage: tuple[str, datetime] | None = None
    entries: list[RecordedTaint] = []
    for part in message.split("; ")[:_MOST_ENTRIES]:
        if part.startswith(_OUTAGE):
            since = instant_in(part.removeprefix(_OUTAGE))
        elif (ready := _READY.fullmatch(part)) is not None:
            turned_at = instant_in(ready["since"])
            outage = (ready["status"], turned_at) if turned_at is not None else None
        elif (found := _ENTRY.fullmatch(part)) is not None and found["effect"] in _BLOCKING:
            taint = Taint(found["key"], found["effect"], found["value"] or "", instant_in(found["since"]))
            entries.append(RecordedTaint(taint, bool(found["policy"])))
    counting = tuple(entry for entry in entries if entry.by_policy or entry.taint.key in CONDITION_TAINT_KEYS)
    return TaintRecord(since, counting, outage)


def render_record(record: TaintRecord) -> str:
    parts = [_OUTAGE + format_time(record.outage_since)] if record.outage_since is not None else []
    if record.outage is not None:
        parts.append(f"Ready is {record.outage[0]} since {format_time(record.outage[1])}")
    return "; ".join((*parts, *map(_render, record.entries)))


def listed_taints(text: str) -> frozenset[tuple[str, str]]:
    """Keys and effects in the annotation `leeward.dev/policy-taints`."""
    return frozenset((key, effect) for key, _, effect in (entry.rpartition(":") for entry in text.split(",")) if key)


@lru_cache(maxsize=1024)
def taints_in_force(
    taints: tuple[Taint, ...], record: TaintRecord, *, is_ready: bool, listed: str
) -> tuple[Taint, ...]:
    """`taints` with the recorded ones that others have taken off, and with the recorded times.

    Of policies those are added that the annotation `listed` confirms.
    """
    if not record:
        return taints
    standing = {entry.key: entry for entry in record.entries if entry.by_policy or not is_ready}
    dated = tuple(_dated(taint, standing.get((taint.key, taint.effect))) for taint in taints)
    present = {(taint.key, taint.effect) for taint in taints}
    missing = (entry for key, entry in standing.items() if key not in present)
    confirmed = listed_taints(listed)
    return (*dated, *(entry.taint for entry in missing if not entry.by_policy or entry.key in confirmed))


def _dated(taint: Taint, recorded: RecordedTaint | None) -> Taint:
    if recorded is None or taint.effect != "NoExecute":
        return taint
    return dated_by(taint, recorded.taint.time_added)


def dated_by(taint: Taint, recorded: datetime | None) -> Taint:
    """The taint with its recorded time, unless its own is earlier: a clock that was ahead has been set right since."""
    if recorded is None or (taint.time_added is not None and taint.time_added <= recorded):
        return taint
    return structs.replace(taint, time_added=recorded)


def _render(entry: RecordedTaint) -> str:
    taint = entry.taint
    since = f" since {format_time(taint.time_added)}" if taint.time_added is not None else ""
    return f"{taint}{since}{_BY_POLICY if entry.by_policy else ''}"


def instant_in(text: str | None) -> datetime | None:
    """Instant in a text; None where there is none that can be read."""
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None
