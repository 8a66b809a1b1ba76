"""Sums of Kubernetes quantities that a member reported, with what is absurd in them cut down and named.

A resource whose name is none is left out, a quantity that cannot be read counts as nothing, a negative one as none, and
one that 64 bits do not hold as the greatest that Kubernetes knows; each leaves a doubt, for people. Holds: S10.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from kubeapi.quantity import Quantity, format_quantity, is_binary, parse_quantity
from kubeapi.text import shown
from leeward.api.rules.texts import qualified_name_fault

MOST = Decimal(2**63 - 1)
SHOWN = 5
LONGEST = 40
LONGEST_NAME, LONGEST_DOUBT = 317, 400
MOST_NAMES = 500
"""Bound on the names of the resources that one Node or one container has, or all of a cluster."""


class Amount(NamedTuple):
    """`binary`: it is written with binary suffixes."""

    value: Decimal
    binary: bool


Amounts = dict[str, Amount]
"""Amounts by resource name."""

NOTHING = Amount(Decimal(0), False)


@dataclass(slots=True)
class Doubts:
    """Absurd values, in the order in which they were found; only the first few are kept."""

    found: list[str] = field(default_factory=list[str])
    count: int = 0

    def add(self, doubt: str) -> None:
        self.count += 1
        if len(self.found) < SHOWN:
            self.found.append(shown(doubt, LONGEST_DOUBT))

    def __str__(self) -> str:
        more = self.count - len(self.found)
        return "; ".join(self.found) + (f"; and {more} more" if more else "")


def read_amounts(quantities: Mapping[str, Quantity], whose: str, doubts: Doubts) -> Amounts:
    """`whose` names the object and the field in a doubt."""
    amounts: Amounts = {}
    for name, quantity in quantities.items():
        if len(amounts) >= MOST_NAMES or not _is_name(name):
            doubts.add(f"{whose}: {name[:LONGEST]} is no resource")
            continue
        value = _read(quantity)
        if value is not None:
            amounts[name] = Amount(max(Decimal(0), min(value, MOST)), is_binary(quantity))
        is_cut = value == MOST and is_binary(quantity)
        if value is None or is_cut or not 0 <= value <= MOST:
            doubts.add(f"{whose}: {name[:LONGEST]} is {str(quantity)[:LONGEST]}")
    return amounts


def sum_amounts(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, (value, binary) in part.items():
            if name not in total and len(total) >= MOST_NAMES:
                continue
            before = total.get(name, NOTHING)
            total[name] = Amount(min(before.value + value, MOST), before.binary or binary)
    return total


def greatest(parts: Iterable[Amounts]) -> Amounts:
    """The greatest of each resource; the first of equal ones."""
    result: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            if name not in result or result[name].value < amount.value:
                result[name] = amount
    return result


def render_amounts(amounts: Amounts) -> dict[str, Quantity]:
    return {name: format_quantity(value, binary) for name, (value, binary) in sorted(amounts.items())}


def _is_name(name: str) -> bool:
    return len(name) <= LONGEST_NAME and _is_short_name(name)


@lru_cache(maxsize=1024)
def _is_short_name(name: str) -> bool:
    return not qualified_name_fault(name)


def _read(quantity: Quantity) -> Decimal | None:
    try:
        return parse_quantity(quantity)
    except (ValueError, ArithmeticError):
        return None
