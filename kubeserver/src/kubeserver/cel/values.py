"""Functions of lists, sets, quantities and versions in CEL."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from kubeapi.codec import canonical
from kubeapi.quantity import parse_quantity
from kubeserver.cel.function import Function, Typed, of, of_both
from kubeserver.cel.semantic_versions import parse_version
from kubeserver.values import holds

_INTEGERS = 2**63


def _sum(items: Sequence[Any]) -> Any:
    return sum(items[1:], items[0]) if items else 0


def _index(items: Sequence[Any], item: Any) -> int:
    return next(iter(_places(items, item)), -1)


def _last_index(items: Sequence[Any], item: Any) -> int:
    return next(iter(_places(items, item)[::-1]), -1)


def _places(items: Sequence[Any], item: Any) -> list[int]:
    wanted = _key(item)
    return [place for place, each in enumerate(items) if _key(each) == wanted]


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(items[index] <= items[index + 1] for index in range(len(items) - 1))


def _keys(items: Sequence[Any]) -> set[bytes]:
    return {_key(item) for item in items}


def _key(item: Any) -> bytes:
    """Bytes that are the same for what is equal in CEL: 1 and 1.0 are, 1 and true are not."""
    return canonical(int(item) if isinstance(item, float) and item.is_integer() else item)


def _contains(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return _keys(others) <= _keys(items)


def _is_equivalent(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return _keys(items) == _keys(others)


def _intersects(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return not _keys(items).isdisjoint(_keys(others))


def _quantity(text: str) -> Typed:
    return _of_amount(parse_quantity(text))


def _of_amount(amount: Decimal) -> Typed:
    return {"quantity": str(amount.normalize())}


def _amount(value: Typed) -> Decimal:
    if "quantity" not in value:
        raise ValueError("is no quantity")
    return Decimal(value["quantity"])


def _integer(value: Typed) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(_amount(value))


def _is_integer(value: Typed) -> bool:
    amount = _amount(value)
    return -_INTEGERS <= amount < _INTEGERS and amount == amount.to_integral_value()


def _sign(amount: Decimal) -> int:
    return (amount > 0) - (amount < 0)


def _ordered(one: Typed, other: Typed) -> int:
    """Order, below 0, 0 or above, of two quantities, or of two versions."""
    if "semver" in one and "semver" in other:
        return parse_version(one["semver"]).compare(parse_version(other["semver"]))
    return _order(_amount(one), _amount(other))


def _is_greater(one: Typed, other: Typed) -> bool:
    return _ordered(one, other) > 0


def _is_less(one: Typed, other: Typed) -> bool:
    return _ordered(one, other) < 0


def _order(one: Any, other: Any) -> int:
    return (one > other) - (one < other)


def _plus(value: Typed, number: int) -> Typed:
    return _of_amount(_amount(value) + number)


def _minus(value: Typed, number: int) -> Typed:
    return _of_amount(_amount(value) - number)


def _version(text: str, normalized: bool = False) -> Typed:
    return {"semver": str(parse_version(text, normalized))}


def _is_version(text: str, normalized: bool) -> bool:
    return holds(lambda each: parse_version(each, normalized))(text)


def _part_of_version(part: str) -> Callable[[Typed], int]:
    def read(value: Typed) -> int:
        if "semver" not in value:
            raise ValueError("is no semantic version")
        return getattr(parse_version(value["semver"]), part)

    return read


_LISTS = (
    Function("isSorted", "bool list", _is_sorted),
    Function("sum", "dyn list", _sum),
    Function("min", "dyn list", min),
    Function("max", "dyn list", max),
    Function("indexOf", "int list dyn", _index),
    Function("lastIndexOf", "int list dyn", _last_index),
)
_SETS = (
    Function("sets.contains", "bool list list", _contains, member=False),
    Function("sets.equivalent", "bool list list", _is_equivalent, member=False),
    Function("sets.intersects", "bool list list", _intersects, member=False),
)
_QUANTITIES = (
    Function("isQuantity", "bool string", holds(parse_quantity), member=False),
    Function("quantity", "typed string", _quantity, member=False),
    Function("sign", "int map", of(_amount, _sign), member=False),
    Function("isInteger", "bool map", _is_integer),
    Function("asInteger", "int map", _integer),
    Function("asApproximateFloat", "double map", of(_amount, float)),
    Function("add", "typed map map", of_both(_amount, lambda one, other: _of_amount(one + other))),
    Function("add", "typed map int", _plus),
    Function("sub", "typed map map", of_both(_amount, lambda one, other: _of_amount(one - other))),
    Function("sub", "typed map int", _minus),
    Function("isGreaterThan", "bool map map", _is_greater),
    Function("isLessThan", "bool map map", _is_less),
    Function("compareTo", "int map map", _ordered),
)
_VERSIONS = (
    Function("isSemver", "bool string", holds(parse_version), member=False),
    Function("isSemver", "bool string bool", _is_version, member=False),
    Function("semver", "typed string", _version, member=False),
    Function("semver", "typed string bool", _version, member=False),
    Function("major", "int map", _part_of_version("major")),
    Function("minor", "int map", _part_of_version("minor")),
    Function("patch", "int map", _part_of_version("patch")),
)
VALUE_FUNCTIONS = (*_LISTS, *_SETS, *_QUANTITIES, *_VERSIONS)
