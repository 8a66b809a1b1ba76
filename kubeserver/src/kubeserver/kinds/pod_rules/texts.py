"""Rules that several parts of a Pod share: ports, modes, ranges, addresses, paths."""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kubeapi.status import Problem

MAX_INT32 = 2**31 - 1
_FEW, LONGEST_REMEMBERED = 64, 100
"""Texts that are not read again, and characters of each."""
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_PORT_LETTERS = re.compile(r"[-a-z0-9]+")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")


def named(rule: Callable[[str], list[str]], name: str, path: str) -> Iterator[Problem]:
    """Problems that `rule` has with a name that is there."""
    yield from (Problem.invalid(path, name, said) for said in rule(name))


def one_of(value: Any, supported: Sequence[str], path: str) -> Iterator[Problem]:
    if value not in supported:
        yield Problem.not_supported(path, value, supported)


def not_negative(number: int, path: str) -> Iterator[Problem]:
    if number < 0:
        yield Problem.invalid(path, number, "must be greater than or equal to 0")


def within(number: int, low: int, high: int, path: str) -> Iterator[Problem]:
    if not low <= number <= high:
        yield Problem.invalid(path, number, f"must be between {low} and {high}, inclusive")


def port_number(number: int, path: str) -> Iterator[Problem]:
    yield from within(number, 1, 65535, path)


def port_name(name: str) -> list[str]:
    """A `NameRule`."""
    said = ["must be no more than 15 characters"] if len(name) > 15 else []
    if not _PORT_LETTERS.fullmatch(name):
        said.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        said.append("must contain at least one letter (a-z)")
    if "--" in name:
        said.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        said.append("must not begin or end with a hyphen")
    return said


def port(value: int | str, path: str) -> Iterator[Problem]:
    yield from port_number(value, path) if isinstance(value, int) else named(port_name, value, path)


def config_key(key: str) -> list[str]:
    """A `NameRule`: what a key in a ConfigMap or Secret may be."""
    if len(key) > 253:
        return ["must be no more than 253 characters"]
    if not _CONFIG_KEY.fullmatch(key):
        return [
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        ]
    if key in (".", ".."):
        return [f"must not be '{key}'"]
    return ["must not start with '..'"] if key.startswith("..") else []


def address(text: str, path: str) -> Iterator[Problem]:
    if not is_address(text):
        yield Problem.invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def is_address(text: str) -> bool:
    return read_address(text) is not None


def read_address(text: str) -> _Address | None:
    """None for a text that is no address. Several rules ask about one text in a row, and of such texts there may be
    tens of thousands."""
    return _remembered_address(text) if len(text) <= LONGEST_REMEMBERED else _read_address(text)


def _read_address(text: str) -> _Address | None:
    try:
        return _parsed(text)
    except (ValueError, OSError):
        return None


def _parsed(text: str) -> _Address:
    """IPv6 is read by the C library: it takes a tenth of the time, and no zone. Raises: ValueError, OSError."""
    if ":" not in text:
        return ipaddress.IPv4Address(text)
    return ipaddress.IPv6Address(socket.inet_pton(socket.AF_INET6, text))


def network(text: str, path: str) -> Iterator[Problem]:
    if "/" not in text or read_network(text) is None:
        yield Problem.invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def whole_network(text: str, path: str) -> Iterator[Problem]:
    """A network as Kubernetes 1.36 wants it in new objects: its address is the first of the range."""
    faults = list(network(text, path))
    yield from faults
    found = read_network(text)
    if not faults and found is not None and not found.is_whole:
        yield Problem.invalid(path, text, "must not have bits set beyond the prefix length")


@dataclass(frozen=True, slots=True)
class ReadNetwork:
    """`is_whole`: the address that was written is the first of the network."""

    network: ipaddress.IPv4Network | ipaddress.IPv6Network
    is_whole: bool


def read_network(text: str) -> ReadNetwork | None:
    """None for a text that is neither a network nor an address."""
    return _remembered_network(text) if len(text) <= LONGEST_REMEMBERED else _read_network(text)


def _read_network(text: str) -> ReadNetwork | None:
    head, slash, length = text.partition("/")
    try:
        address = _parsed(head)
        kind = ipaddress.IPv4Network if address.version == 4 else ipaddress.IPv6Network
        found = kind((address.packed, length if slash else address.max_prefixlen), strict=False)
    except (ValueError, OSError):
        return None
    return ReadNetwork(found, is_whole=found.network_address.packed == address.packed)


_remembered_address, _remembered_network = lru_cache(_FEW)(_read_address), lru_cache(_FEW)(_read_network)


def mode(bits: int | None, path: str) -> Iterator[Problem]:
    if bits is not None and not 0 <= bits <= 0o777:
        yield Problem.invalid(path, bits, "must be a number between 0 and 0777 (octal), both inclusive")


def descending_path(text: str, path: str) -> Iterator[Problem]:
    """A path within a volume."""
    if text.startswith("/"):
        yield Problem.invalid(path, text, "must be a relative path")
    if ".." in text.split("/"):
        yield Problem.invalid(path, text, "must not contain '..'")


def reserved_path(text: str, path: str) -> Iterator[Problem]:
    """A path within a volume of files: those that begin with two dots belong to whoever writes them."""
    yield from descending_path(text, path)
    if text.startswith("..") and not text.startswith("../"):
        yield Problem.invalid(path, text, "must not start with '..'")


def duplicate(path: str, value: str) -> Problem:
    return Problem(path, "FieldValueDuplicate", f'Duplicate value: "{value}"')


def unknown(path: str, value: str) -> Problem:
    return Problem(path, "FieldValueNotFound", f'Not found: "{value}"')
