"""Sums of amounts by resource from which parts can be taken away again, exactly: in whole nanos, without a bound.

The bound of what a member may claim (S10) is put on what is told of a sum, so that a sum is always that of its parts.
"""

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from sys import intern

from leeward.core.amounts import MOST, MOST_NAMES, Amount, Amounts

NANO_DIGITS = 9
MOST_NANOS = int(MOST.scaleb(NANO_DIGITS))
SHARE_BYTES, NAME_BYTES = 200, 100
"""Bytes of a share, and for each resource of it; about."""

Columns = tuple[tuple[str, bool], ...]
"""Resources, each with whether it is written with binary suffixes."""


class ResourceShare:
    """Share that one object adds to sums; like objects have the same one. `is_absurd`: numbers were cut down."""

    __slots__ = ("columns", "is_absurd", "nanos")

    def __init__(self, amounts: Amounts, *, is_absurd: bool) -> None:
        self.is_absurd = is_absurd
        self.columns = _shared(tuple((intern(name), amount.binary) for name, amount in amounts.items()))
        self.nanos = tuple(int(amount.value.scaleb(NANO_DIGITS)) for amount in amounts.values())

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Resources and nanos."""
        return ((name, nanos) for (name, _), nanos in zip(self.columns, self.nanos, strict=True))

    @property
    def size(self) -> int:
        """Bytes, about."""
        return SHARE_BYTES + sum(NAME_BYTES + len(name) for name, _ in self.columns)


@lru_cache(maxsize=1_024)
def _shared(columns: Columns) -> Columns:
    """Columns as one tuple, shared by all that are equal."""
    return columns


class ResourceSums:
    """A resource is in the sums as long as one of their parts has it, be it with nothing."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[str, list[int]] = {}
        """Sums by resource: the nanos, of how many parts, and how many of these are written with binary suffixes."""

    def add(self, share: ResourceShare) -> None:
        for (name, binary), nanos in zip(share.columns, share.nanos, strict=True):
            part = self._parts.get(name)
            if part is None:
                self._parts[name] = [nanos, 1, binary]
            else:
                part[0] += nanos
                part[1] += 1
                part[2] += binary

    def subtract(self, share: ResourceShare) -> None:
        """Subtracts what was added."""
        for (name, binary), nanos in zip(share.columns, share.nanos, strict=True):
            part = self._parts[name]
            part[0] -= nanos
            part[1] -= 1
            part[2] -= binary
            if not part[1]:
                del self._parts[name]

    def amounts(self) -> Amounts:
        """Amounts of the first `MOST_NAMES`, at most `MOST` of each."""
        names = list(self._parts)[:MOST_NAMES]
        return {name: Amount(units(self._parts[name][0]), self._parts[name][2] > 0) for name in names}


def units(nanos: int) -> Decimal:
    """Units of so many nanos, at most `MOST`."""
    return Decimal(min(nanos, MOST_NANOS)).scaleb(-NANO_DIGITS)
