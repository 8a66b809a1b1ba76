"""Cache of what many watch in the same way, made once: pieces of frames, kept for as long as others may still ask for
them.

A thousand watchers that wait for the same kind are woken by the same records. The first one makes the piece, and the
others send the same bytes. Records between two revisions are always the same, so a piece never gets stale; it only
goes when newer ones need its room.
"""

from typing import NamedTuple

SHARED_BYTES = 8 * 1024 * 1024


class View(NamedTuple):
    """Settings that decide how a record looks in a watch."""

    prefix: str
    api_version: str
    kind: str
    namespace: str
    shape: str
    shape_version: str
    label_selector: str
    field_selector: str
    form: object


PieceKey = tuple[View, int, int]
"""A view, with the revisions of the first and of the last record."""


class SharedPieces:
    """The newest pieces, up to `limit_bytes` together."""

    def __init__(self, limit_bytes: int = SHARED_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._pieces: dict[PieceKey, bytes] = {}

    def find(self, key: PieceKey) -> bytes | None:
        return self._pieces.get(key)

    def keep(self, key: PieceKey, piece: bytes) -> None:
        """Keeps the piece; a second one under the same key, made at the same time, changes nothing."""
        if key not in self._pieces:
            self._pieces[key] = piece
            self._bytes += len(piece)
            self._make_room()

    def _make_room(self) -> None:
        """The oldest ones go first."""
        while self._bytes > self._limit_bytes:
            oldest = next(iter(self._pieces))
            self._bytes -= len(self._pieces.pop(oldest))
