"""Record of the taints that the control plane has set on a Cluster, and since when (condition `leeward.dev/Tainted`).

    the outage counts since T; KEY:EFFECT since T; KEY=VALUE:EFFECT since T by policy

Whoever applies `spec.taints` as a list takes taints of others off. The status is nobody's but ours, so that the record
stays, and with it the time at which evictions are due. Taints in force are those of the spec and those of the record:

    an automatic taint (not-ready, unreachable)   in force while the cluster is not Ready, since the recorded time
    a taint of a ClusterTaintPolicy               in force while it is recorded
    any other key in the record                   ignored: an agent may write the status of its own Cluster

Reads and renders; what is recorded decides `leeward.core.cluster_health.standing_taints`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from msgspec import structs

from kubeapi.meta import format_time, parse_time
from leeward.api.core import Taint
from leeward.api.names import CONDITION_TAINT_KEYS

_OUTAGE = "the outage counts since "
_BY_POLICY = " by policy"
_ENTRY = re.compile(
    r"(?P<key>[^\s=:]+)(?:=(?P<value>[^\s:]*))?:(?P<effect>[A-Za-z]+)(?: since (?P<since>\S+))?(?P<policy> by policy)?"
)
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
    """`outage_since` is the start of the outage's clock."""

    outage_since: datetime | None = None
    entries: tuple[RecordedTaint, ...] = ()

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
        return TaintRecord(self.outage_since if is_outage else None, kept)


NO_RECORD = TaintRecord()


@lru_cache(maxsize=1024)
def parse_record(message: str) -> TaintRecord:
    """Reads a record; what nobody can read is none."""
    since: datetime | None = None
    entries: list[RecordedTaint] = []
    for part in message.split("; ")[:_MOST_ENTRIES]:
        if part.startswith(_OUTAGE):
            since = _instant(part.removeprefix(_OUTAGE))
        elif (found := _ENTRY.fullmatch(part)) is not None and found["effect"] in _BLOCKING:
            taint = Taint(found["key"], found["effect"], found["value"] or "", _instant(found["since"]))
            entries.append(RecordedTaint(taint, bool(found["policy"])))
    return TaintRecord(since, tuple(entry for entry in entries if entry.by_policy or _is_automatic(entry.taint)))


def render_record(record: TaintRecord) -> str:
    parts = [_OUTAGE + format_time(record.outage_since)] if record.outage_since is not None else []
    return "; ".join((*parts, *map(_render, record.entries)))


@lru_cache(maxsize=1024)
def taints_in_force(
    taints: tuple[Taint, ...], record: TaintRecord, *, is_ready: bool, of_policies: bool = True
) -> tuple[Taint, ...]:
    """`taints` with the recorded ones that others have taken off, and with the recorded times.

    Without `of_policies` nothing of a policy is added.
    """
    if not record:
        return taints
    standing = {entry.key: entry for entry in record.entries if entry.by_policy or not is_ready}
    dated = tuple(_dated(taint, standing.get((taint.key, taint.effect))) for taint in taints)
    present = {(taint.key, taint.effect) for taint in taints}
    missing = (entry for key, entry in standing.items() if key not in present)
    return (*dated, *(entry.taint for entry in missing if of_policies or not entry.by_policy))


def _dated(taint: Taint, recorded: RecordedTaint | None) -> Taint:
    if recorded is None or taint.effect != "NoExecute":
        return taint
    return dated_by(taint, recorded.taint.time_added)


def dated_by(taint: Taint, recorded: datetime | None) -> Taint:
    """The taint with its recorded time, unless its own is earlier: a clock that was ahead has been set right since."""
    if recorded is None or (taint.time_added is not None and taint.time_added <= recorded):
        return taint
    return structs.replace(taint, time_added=recorded)


def _is_automatic(taint: Taint) -> bool:
    return taint.key in CONDITION_TAINT_KEYS


def _render(entry: RecordedTaint) -> str:
    taint = entry.taint
    since = f" since {format_time(taint.time_added)}" if taint.time_added is not None else ""
    return f"{taint}{since}{_BY_POLICY if entry.by_policy else ''}"


def _instant(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None
