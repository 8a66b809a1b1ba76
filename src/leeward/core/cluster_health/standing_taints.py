"""Standing taints: those that the control plane has set stand until their cause ends, whoever takes them off.

    record_taints     the record of them in the Cluster's status (`api/taint_record.py`)
    removed_taints    taints of the record that the spec lacks: somebody has taken them off
    removers_of       who that is, by `metadata.managedFields`
    TaintsWrite       when the spec gets the taints again

Due evictions depend on the record alone, so that writes of the spec may wait: healing each difference at once would be
a fight without end. A write is repeated at once when the one before has stood for a while; else the pause doubles.
Pure; seconds are those of one monotonic clock.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from kubeapi.core import Taint
from kubeapi.meta import Manifest, parse_time, wire_time
from kubeapi.untrusted import mapping_in, mappings_in, text_in
from leeward.api.cluster import Cluster, ClusterStatus
from leeward.api.meta import Condition, find_condition, put_condition
from leeward.api.names import TAINTED_CONDITION, TAINTS_REMOVED_CONDITION
from leeward.api.taint_record import NO_RECORD, RecordedTaint, TaintRecord, dated_by, render_record
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, TaintKey, key_of, policy_taints

STOOD_SECONDS = 4.0
"""A write that has stood for so long is repeated at once."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
SOMEBODY = "somebody"
"""Name for a writer of whom the API server notes nothing: its patch removes fields, and sets none."""
_MOST_NAMES = 8
_TAKEN_OFF = "taints that the control plane has set are taken off by "
_GOES_ON = (
    ". Evictions begin as if they stood there. Leave spec.taints out of what is applied, or have the tool ignore it; "
    "docs/production.md says how to hold an eviction"
)


def record_taints(cluster: Cluster, tainted: Cluster, outage_since: datetime | None) -> TaintRecord:
    """Record of those taints that the control plane sets on `cluster`, which `tainted` has then. A recorded time
    stays, unless the taint has an earlier one by now: it only moves earlier.

    A cluster that has never reported has no outage.
    """
    if cluster.ready is None:
        return NO_RECORD
    before, policies = cluster.taint_record, policy_taints(tainted)
    ours = (t for t in tainted.spec.taints if key_of(t) in CONDITION_TAINTS or key_of(t) in policies)
    entries = (RecordedTaint(taint, by_policy=key_of(taint) in policies) for taint in ours)
    turned_at = None if cluster.is_ready else cluster.ready.last_transition_time
    outage = (cluster.ready.status, wire_time(turned_at)) if turned_at is not None else None
    return TaintRecord(outage_since, tuple(_as_before(entry, before) for entry in entries), outage)


def _as_before(entry: RecordedTaint, before: TaintRecord) -> RecordedTaint:
    known = before.find(entry.key, by_policy=entry.by_policy)
    return entry if known is None else RecordedTaint(dated_by(entry.taint, known.time_added), entry.by_policy)


def removed_taints(cluster: Cluster) -> frozenset[TaintKey]:
    """Recorded taints that are in force and that the spec does not have."""
    return frozenset(map(key_of, cluster.taints)) - frozenset(map(key_of, cluster.spec.taints))


def with_record(status: ClusterStatus, record: TaintRecord, removed_by: Iterable[str], now: datetime) -> ClusterStatus:
    """The status with this record, and with who takes taints off, as long as there is a record."""
    tainted = Condition(TAINTED_CONDITION, "True", "ControlPlane", render_record(record)) if record else None
    conditions = put_condition(status.conditions, TAINTED_CONDITION, tainted, now)
    names = sorted({*removers_in(status), *removed_by})[:_MOST_NAMES] if record else []
    told = (
        Condition(TAINTS_REMOVED_CONDITION, "True", "RemovedByOthers", f"{_TAKEN_OFF}{', '.join(names)}{_GOES_ON}")
        if names
        else None
    )
    return replace(status, conditions=put_condition(conditions, TAINTS_REMOVED_CONDITION, told, now))


def removal_told(status: ClusterStatus) -> str:
    """Sentence about who takes taints off; empty where nobody does."""
    found = find_condition(status.conditions, TAINTS_REMOVED_CONDITION)
    return "" if found is None else found.message


def removers_in(status: ClusterStatus) -> list[str]:
    told = removal_told(status)
    return told.removeprefix(_TAKEN_OFF).partition(_GOES_ON)[0].split(", ") if told.startswith(_TAKEN_OFF) else []


def removers_of(manifest: Manifest, ours: str, since: datetime | None) -> list[str]:
    """Field managers that may have taken the taints off: others than `ours` that own them, else who has written last.

    Only those that have written `since` then. Empty where nobody is known.
    """
    owners: list[str] = []
    writers: list[tuple[datetime, str]] = []
    for entry in _entries(manifest, ours):
        name = text_in(entry, "manager")
        with suppress(ValueError):
            written_at = parse_time(text_in(entry, "time"))
            if since is not None and written_at < wire_time(since):
                continue
            writers.append((written_at, name))
            if "f:taints" in mapping_in(mapping_in(entry, "fieldsV1"), "f:spec"):
                owners.append(name)
    last = [name for _, name in sorted(writers)][-1:]
    return sorted(set(owners or last))


def _entries(manifest: Manifest, ours: str) -> Iterator[Manifest]:
    """Entries of others for the object itself."""
    for entry in mappings_in(mapping_in(manifest, "metadata"), "managedFields"):
        name = text_in(entry, "manager")
        if name not in ("", ours) and not text_in(entry, "subresource"):
            yield entry


@dataclass(frozen=True, slots=True)
class TaintsWrite:
    """The last write of a Cluster's taints: `undone_at` is when it was seen that others had undone it, after which it
    is repeated when the pause is over."""

    taints: frozenset[tuple[str, str, str]]
    at: float
    pause_seconds: float = 0.0
    undone_at: float | None = None

    def left(self, now: float) -> float:
        """Seconds until it may be repeated."""
        return 0.0 if self.undone_at is None else max(0.0, self.undone_at + self.pause_seconds - now)


def note_write(last: TaintsWrite | None, taints: Iterable[Taint], now: float) -> TaintsWrite:
    """Notes a write that is carried out now."""
    written = _named(taints)
    return TaintsWrite(written, now, 0.0 if last is None or last.taints != written else last.pause_seconds)


def note_undone(last: TaintsWrite | None, taints: Iterable[Taint], now: float) -> TaintsWrite | None:
    """Notes that these taints are to be written. None: they were not written before, and are due at once."""
    if last is None or last.taints != _named(taints):
        return None
    if last.undone_at is not None:
        return last
    stood = now - last.at >= STOOD_SECONDS
    pause = 0.0 if stood else min(max(FIRST_PAUSE_SECONDS, 2 * last.pause_seconds), LONGEST_PAUSE_SECONDS)
    return TaintsWrite(last.taints, last.at, pause, now)


def _named(taints: Iterable[Taint]) -> frozenset[tuple[str, str, str]]:
    return frozenset((taint.key, taint.value, taint.effect) for taint in taints)


def is_specified_otherwise(old: Cluster, new: Cluster) -> bool:
    """Tells whether the specs differ, of taints those in force: who takes off taints of ours changes nothing."""
    if old.spec == new.spec:
        return old.taints != new.taints
    return replace(old.spec, taints=old.taints) != replace(new.spec, taints=new.taints)
