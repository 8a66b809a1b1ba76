"""Kubernetes' own functions for rules in CEL: lists, quantities, addresses, URLs, formats.

A value of a type of theirs (a quantity, an address) is a map with the type's name as its only key, so that equal ones
are equal. Every function is bounded by the size of what it is given; the ones that raise ValueError have no result.

Kubernetes: apiserver/pkg/cel/library; the same functions. Differs: `find` and `findAll` are missing, for a regular
expression that a user brings must be matched in linear time, which only the language's own `matches` does here.
"""

import ipaddress
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qs, urlsplit

from leeward.api.quantity import parse_quantity
from leeward.apiserver.kinds import names

T = TypeVar("T")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface
_Typed = Mapping[str, str]
_LONGEST_INTEGER = 19
"""Decimal digits."""


@dataclass(frozen=True, slots=True)
class Function:
    """`signature` names the types of the result and the parameters; the first parameter of a member is its owner."""

    name: str
    signature: str
    run: Callable[..., Any]
    member: bool = True


def _of(read: Callable[[_Typed], T], answer: Callable[[T], object]) -> Callable[[_Typed], object]:
    """A function of what a typed value stands for."""
    return lambda value: answer(read(value))


def _of_both(read: Callable[[_Typed], T], answer: Callable[[T, T], object]) -> Callable[[_Typed, _Typed], object]:
    return lambda one, other: answer(read(one), read(other))


def _sum(items: Sequence[Any]) -> Any:
    return sum(items[1:], items[0]) if items else 0


def _index(items: Sequence[Any], item: Any) -> int:
    return items.index(item) if item in items else -1


def _last_index(items: Sequence[Any], item: Any) -> int:
    return len(items) - 1 - _index(items[::-1], item) if item in items else -1


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(items[index] <= items[index + 1] for index in range(len(items) - 1))


def _quantity(text: str) -> _Typed:
    return _of_amount(parse_quantity(text))


def _of_amount(amount: Decimal) -> _Typed:
    return {"quantity": str(amount.normalize())}


def _amount(value: _Typed) -> Decimal:
    if "quantity" not in value:
        raise ValueError("is no quantity")
    return Decimal(value["quantity"])


def _integer(value: _Typed) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(_amount(value))


def _is_integer(value: _Typed) -> bool:
    amount = _amount(value)
    return amount.adjusted() < _LONGEST_INTEGER and amount == amount.to_integral_value()


def _sign(amount: Decimal) -> int:
    return (amount > 0) - (amount < 0)


def _plus(value: _Typed, number: int) -> _Typed:
    return _of_amount(_amount(value) + number)


def _minus(value: _Typed, number: int) -> _Typed:
    return _of_amount(_amount(value) - number)


def _ip(text: str) -> _Typed:
    return {"ip": str(_read_ip(text))}


def _read_ip(text: str) -> _Address:
    address = ipaddress.ip_address(text)
    if "%" in text or getattr(address, "ipv4_mapped", None) is not None:
        raise ValueError(f"IP Address {text!r} must have no zone and be no IPv4 address in IPv6")
    return address


def _is_canonical(text: str) -> bool:
    return str(_read_ip(text)) == text


def _address(value: _Typed) -> _Address:
    if "ip" not in value:
        raise ValueError("is no IP address")
    return ipaddress.ip_address(value["ip"])


def _is_link_local_multicast(address: _Address) -> bool:
    wanted = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(wanted)


def _is_global_unicast(address: _Address) -> bool:
    """As in Go: private addresses count as well."""
    others = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not others and str(address) != "255.255.255.255"


def _cidr(text: str) -> _Typed:
    if "/" not in text or not text.rpartition("/")[2].isdigit():
        raise ValueError(f"network address {text!r} has no prefix length")
    _read_ip(text.partition("/")[0])
    return {"cidr": str(ipaddress.ip_interface(text))}


def _network(value: _Typed) -> _Network:
    if "cidr" not in value:
        raise ValueError("is no network")
    return ipaddress.ip_interface(value["cidr"])


def _contains_ip(value: _Typed, address: str | _Typed) -> bool:
    other = _read_ip(address) if isinstance(address, str) else _address(address)
    return other in _network(value).network


def _contains_cidr(value: _Typed, network: str | _Typed) -> bool:
    own, other = _network(value).network, _network(_cidr(network) if isinstance(network, str) else network).network
    if own.version != other.version:
        return False
    return other.network_address in own and other.prefixlen >= own.prefixlen


def _url(text: str) -> _Typed:
    parts = urlsplit(text)
    _ = parts.port
    if not (parts.scheme or text.startswith("/")):
        raise ValueError(f"URL parse error: {text!r} is neither absolute nor a path")
    return {"url": text}


def _parts(value: _Typed) -> SplitResult:
    if "url" not in value:
        raise ValueError("is no URL")
    return urlsplit(value["url"])


def _port(parts: SplitResult) -> str:
    return "" if parts.port is None else str(parts.port)


def _query(parts: SplitResult) -> Mapping[str, list[str]]:
    return parse_qs(parts.query, keep_blank_values=True)


def _is(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _validate(value: _Typed, text: str) -> list[str]:
    return _FORMATS[value["format"]](text)


_FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.dns_label,
    "dns1123Subdomain": names.dns_subdomain,
    "dns1035Label": names.dns_1035_label,
    "qualifiedName": names.qualified_name,
    "labelValue": names.label_value,
}

_LISTS = (
    Function("isSorted", "bool list", _is_sorted),
    Function("sum", "dyn list", _sum),
    Function("min", "dyn list", min),
    Function("max", "dyn list", max),
    Function("indexOf", "int list dyn", _index),
    Function("lastIndexOf", "int list dyn", _last_index),
)
_QUANTITIES = (
    Function("isQuantity", "bool string", _is(parse_quantity), member=False),
    Function("quantity", "map string", _quantity, member=False),
    Function("sign", "int map", _of(_amount, _sign)),
    Function("isInteger", "bool map", _is_integer),
    Function("asInteger", "int map", _integer),
    Function("asApproximateFloat", "double map", _of(_amount, float)),
    Function("add", "map map map", _of_both(_amount, lambda one, other: _of_amount(one + other))),
    Function("add", "map map int", _plus),
    Function("sub", "map map map", _of_both(_amount, lambda one, other: _of_amount(one - other))),
    Function("sub", "map map int", _minus),
    Function("isGreaterThan", "bool map map", _of_both(_amount, operator.gt)),
    Function("isLessThan", "bool map map", _of_both(_amount, operator.lt)),
    Function("compareTo", "int map map", _of_both(_amount, lambda one, other: _sign(one - other))),
)
_ADDRESSES = (
    Function("isIP", "bool string", _is(_read_ip), member=False),
    Function("ip", "map string", _ip, member=False),
    Function("ip.isCanonical", "bool string", _is_canonical, member=False),
    Function("family", "int map", _of(_address, lambda address: address.version)),
    Function("isUnspecified", "bool map", _of(_address, lambda address: address.is_unspecified)),
    Function("isLoopback", "bool map", _of(_address, lambda address: address.is_loopback)),
    Function("isLinkLocalUnicast", "bool map", _of(_address, lambda address: address.is_link_local)),
    Function("isLinkLocalMulticast", "bool map", _of(_address, _is_link_local_multicast)),
    Function("isGlobalUnicast", "bool map", _of(_address, _is_global_unicast)),
    Function("isCIDR", "bool string", _is(_cidr), member=False),
    Function("cidr", "map string", _cidr, member=False),
    Function("containsIP", "bool map string", _contains_ip),
    Function("containsIP", "bool map map", _contains_ip),
    Function("containsCIDR", "bool map string", _contains_cidr),
    Function("containsCIDR", "bool map map", _contains_cidr),
    Function("ip", "map map", _of(_network, lambda network: {"ip": str(network.ip)})),
    Function("masked", "map map", _of(_network, lambda network: {"cidr": str(network.network)})),
    Function("prefixLength", "int map", _of(_network, lambda network: network.network.prefixlen)),
)
_URLS = (
    Function("isURL", "bool string", _is(_url), member=False),
    Function("url", "map string", _url, member=False),
    Function("getScheme", "string map", _of(_parts, lambda parts: parts.scheme)),
    Function("getHost", "string map", _of(_parts, lambda parts: parts.netloc.rpartition("@")[2])),
    Function("getHostname", "string map", _of(_parts, lambda parts: parts.hostname or "")),
    Function("getPort", "string map", _of(_parts, _port)),
    Function("getEscapedPath", "string map", _of(_parts, lambda parts: parts.path)),
    Function("getQuery", "map map", _of(_parts, _query)),
)


def _format(name: str) -> Function:
    return Function(f"format.{name}", "map", lambda: {"format": name}, member=False)


_NAMES = (
    *map(_format, _FORMATS),
    Function("validate", "list map string", _validate),
    Function("hasValue", "bool list", bool),
    Function("value", "list list", list),
)
FUNCTIONS = (*_LISTS, *_QUANTITIES, *_ADDRESSES, *_URLS, *_NAMES)
