"""SQLite's write-ahead log, looked over before SQLite itself reads it after a crash.

SQLite takes the first frame with a wrong checksum for the end of the log, for that is what a power cut leaves: the last
transaction, half written. A frame that was damaged later looks the same, and what was acknowledged behind it would be
gone in silence. The difference is what follows: each transaction is synced before the next begins, so behind a half
written one there is no other. What the log held before it was begun anew has other salts, and the store empties it
whenever it opens it, so nothing older passes for it.

Damage of the last transaction itself, or of the log's own header, cannot be told from a power cut.

Holds: D7. Source of the layout: SQLite's file format, "The Write-Ahead Log".
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from kubeserver.store.medium import MediumFailed

_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_MAGIC = 0x377F0682
"""Magic number, whose last bit says that checksums are of big-endian words."""
_WORD = 0xFFFFFFFF

Sums = tuple[int, int]


def check_journal(store: Path, way_out: str) -> None:
    """Checks the log. Nothing is wrong where there is none, or a whole one. Raises: MediumFailed."""
    path = store.with_name(f"{store.name}-wal")
    content = path.read_bytes() if path.exists() else b""
    lost = _transactions_behind_damage(content)
    if lost:
        raise MediumFailed(f"{path} is damaged: {lost} transactions behind the damage would be lost{way_out}")


def _transactions_behind_damage(content: bytes) -> int:
    """Number of transactions that SQLite would not see, but for the one that may be half written."""
    if len(content) < _HEADER.size:
        return 0
    magic, _, page_size, _, *salts, first, second = _HEADER.unpack_from(content)
    if magic & ~1 != _MAGIC or _sums(content[:24], (0, 0), magic) != (first, second):
        return 0
    sums, hidden, is_whole = (first, second), 0, True
    for head, page in _frames(content, page_size):
        _, pages_after_commit, *own_salts, first, second = _FRAME.unpack(head)
        is_ours = own_salts == salts
        if is_whole and is_ours:
            sums = _sums(page, _sums(head[:8], sums, magic), magic)
        is_whole = is_whole and is_ours and sums == (first, second)
        if is_ours and not is_whole and pages_after_commit:
            hidden += 1
    return max(hidden - 1, 0)


def _frames(content: bytes, page_size: int) -> Iterator[tuple[bytes, bytes]]:
    """Head and page of each frame that is there as a whole."""
    size = _FRAME.size + page_size
    for start in range(_HEADER.size, len(content) - size + 1, size):
        middle = start + _FRAME.size
        yield content[start:middle], content[middle : start + size]


def _sums(data: bytes, sums: Sums, magic: int) -> Sums:
    first, second = sums
    for one, other in struct.iter_unpack(">II" if magic & 1 else "<II", data):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second
