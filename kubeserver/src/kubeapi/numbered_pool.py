"""A pool that gives small numbers to values in use, so that many rows can name the same value in a few bytes."""

from array import array
from hashlib import blake2b
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

UNKNOWN = -1
DIGEST_BYTES = 16


def digest_of(text: bytes) -> bytes:
    """A key for what is long: 16 bytes, which nobody makes equal on purpose."""
    return blake2b(text, digest_size=DIGEST_BYTES).digest()


class NumberedPool(Generic[K, V]):
    """Numbers are given again when nobody uses them any more."""

    __slots__ = ("_entries", "_free", "_numbers", "_uses")

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._entries: list[tuple[K, V] | None] = []
        self._uses = array("Q")
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, key: K) -> int:
        """`UNKNOWN` for a key that nobody uses."""
        return self._numbers.get(key, UNKNOWN)

    def key(self, number: int) -> K:
        return self._entry(number)[0]

    def value(self, number: int) -> V:
        return self._entry(number)[1]

    def add(self, key: K, value: V) -> int:
        """The number of a key that nobody uses yet; it has no use either until `take`."""
        if self._free:
            number = self._free.pop()
            self._entries[number] = key, value
        else:
            number = len(self._entries)
            self._entries.append((key, value))
            self._uses.append(0)
        self._numbers[key] = number
        return number

    def take(self, number: int) -> None:
        """One use more."""
        self._uses[number] += 1

    def release(self, number: int) -> V | None:
        """One use less. Returns the value with its last use."""
        self._uses[number] -= 1
        if self._uses[number]:
            return None
        key, value = self._entry(number)
        del self._numbers[key]
        self._entries[number] = None
        self._free.append(number)
        return value

    def _entry(self, number: int) -> tuple[K, V]:
        entry = self._entries[number]
        assert entry is not None, f"number {number} is in use"
        return entry
