"""A map from texts to numbers in two arrays, for millions of entries: 16 bytes a slot, 21 to 43 an entry.

Of a text 64 bits of its hash are kept, under Python's secret of this process: two of 200,000 texts meet with a
probability of one in a thousand million, and are then one entry.

Open addressing with linear probing; what is taken out closes its gap. It is divided into segments that grow by
themselves, so that no single entry costs more than moving a sixty-fourth of them.
"""

from array import array

SEGMENTS = 64
SMALLEST = 8
_BITS = (1 << 64) - 1
_SEGMENT_SHIFT = 58


class CompactMap:
    """Values are from 0 to 2**64 - 1."""

    __slots__ = ("_count", "_segments")

    def __init__(self) -> None:
        self._segments: list[_Segment | None] = [None] * SEGMENTS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, text: str) -> int | None:
        key = _key(text)
        segment = self._segments[key >> _SEGMENT_SHIFT]
        return None if segment is None else segment.get(key)

    def put(self, text: str, value: int) -> int | None:
        """The value before, if there was one."""
        key = _key(text)
        segment = self._segments[key >> _SEGMENT_SHIFT]
        if segment is None:
            segment = self._segments[key >> _SEGMENT_SHIFT] = _Segment(SMALLEST)
        old = segment.put(key, value)
        self._count += old is None
        return old

    def pop(self, text: str) -> int | None:
        """The value, which is not there any more."""
        key = _key(text)
        segment = self._segments[key >> _SEGMENT_SHIFT]
        value = None if segment is None else segment.pop(key)
        self._count -= value is not None
        return value


def _key(text: str) -> int:
    """Key of the text; never 0, which is an empty slot."""
    return hash(text) & _BITS or 1


class _Segment:
    __slots__ = ("_count", "_keys", "_mask", "_values")

    def __init__(self, slots: int) -> None:
        """`slots`: a power of two."""
        self._keys = array("Q", bytes(8 * slots))
        self._values = array("Q", bytes(8 * slots))
        self._mask = slots - 1
        self._count = 0

    def get(self, key: int) -> int | None:
        slot = self._slot(key)
        return self._values[slot] if self._keys[slot] else None

    def put(self, key: int, value: int) -> int | None:
        slot = self._slot(key)
        if self._keys[slot]:
            old = self._values[slot]
            self._values[slot] = value
            return old
        self._keys[slot], self._values[slot] = key, value
        self._count += 1
        if 4 * self._count > 3 * self._mask:
            self._grow()
        return None

    def pop(self, key: int) -> int | None:
        gap = self._slot(key)
        if not self._keys[gap]:
            return None
        value = self._values[gap]
        self._close(gap)
        self._count -= 1
        return value

    def _slot(self, key: int) -> int:
        """Slot of the key, or the free one where it would be."""
        keys, mask = self._keys, self._mask
        slot = key & mask
        while keys[slot] and keys[slot] != key:
            slot = (slot + 1) & mask
        return slot

    def _close(self, gap: int) -> None:
        """Moves up what was pushed past the gap."""
        keys, values, mask = self._keys, self._values, self._mask
        slot = (gap + 1) & mask
        while keys[slot]:
            if (slot - keys[slot]) & mask >= (slot - gap) & mask:
                keys[gap], values[gap] = keys[slot], values[slot]
                gap = slot
            slot = (slot + 1) & mask
        keys[gap] = 0

    def _grow(self) -> None:
        larger = _Segment(2 * (self._mask + 1))
        for key, value in zip(self._keys, self._values, strict=True):
            if key:
                larger.put(key, value)
        self._keys, self._values, self._mask = larger._keys, larger._values, larger._mask
