"""Pauses between repeated writes of the same contents, which somebody else in the member undoes again and again.

The first repetition is made at once: a drift is mended. After that each pause is twice as long as the one before, until
a write has stood for a while, or other contents are due. Times are seconds of one monotonic clock.
"""

from dataclasses import dataclass
from typing import Any, cast

from kubeapi.meta import Manifest

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
QUIET_SECONDS = 2 * LONGEST_PAUSE_SECONDS
"""A write that has stood for so long is forgotten."""


@dataclass(frozen=True, slots=True)
class LastWrite:
    """`contents` tells which: they are the same when it is equal. `undone` counts repetitions without a rest."""

    contents: str
    at: float
    undone: int = 0


def note_write(last: LastWrite | None, contents: str, now: float) -> LastWrite:
    """Notes what is to be remembered when `contents` were written, and that changed the object."""
    if last is None or last.contents != contents or now - last.at > QUIET_SECONDS:
        return LastWrite(contents, now)
    return LastWrite(contents, now, last.undone + 1)


def pause_left(last: LastWrite | None, contents: str, now: float) -> float:
    """Seconds for which `contents` are not written again; 0 when they may be."""
    if last is None or last.contents != contents or last.undone == 0:
        return 0.0
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(last.undone - 1, 30), LONGEST_PAUSE_SECONDS)
    return max(0.0, last.at + pause - now)


def by_whom(observed: Manifest) -> str:
    """Words for who changed the object last, where its server says so."""
    entries = cast(list[dict[str, Any]], observed["metadata"].get("managedFields") or [])
    changes = [entry for entry in entries if not entry.get("subresource")]
    managers = [entry.get("manager", "") for entry in sorted(changes, key=lambda entry: entry.get("time", ""))]
    return f" by {managers[-1]}" if managers and managers[-1] else ""
