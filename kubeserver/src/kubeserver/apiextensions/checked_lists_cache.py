"""Cache of long lists that were found to be in order: one does not look at them again, item by item, while they stay
the same.

A cluster reports hundreds of API resources with each of its statuses, and a fleet reports the same ones. Remembers
whole texts, never their hashes, a few for each place of a schema, and only what needed nothing: what a list is worth
follows from the place and the text alone.
"""

from typing import Any

from kubeapi import codec

SHORTEST = 8
LONGEST_BYTES = 64 * 1024
MOST = 8
"""Texts of one place; the oldest goes."""


class Memory:
    """Memory of one place, and of one question about it."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: dict[bytes, None] = {}

    def text_of(self, items: list[Any]) -> bytes | None:
        """Text to ask and to remember by; None for a list that is sooner looked at."""
        if len(items) < SHORTEST:
            return None
        text = codec.encode(items)
        return text if len(text) <= LONGEST_BYTES else None

    def knows(self, text: bytes | None) -> bool:
        return text is not None and text in self._texts

    def keep(self, text: bytes | None) -> None:
        if text is None:
            return
        if len(self._texts) >= MOST:
            del self._texts[next(iter(self._texts))]
        self._texts[text] = None
