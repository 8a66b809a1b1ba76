"""The formats of strings in schemas. Those that are not here say what a string is for, and hold nobody to it."""

import ipaddress
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import date

from kubeapi.meta import parse_time
from kubeserver.values import holds


def has_format(text: str, name: str) -> bool:
    check = _FORMATS.get(name.replace("-", ""))
    return check is None or check(text)


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(third: str = "[0-9a-f]", fourth: str = "[0-9a-f]") -> Callable[[str], bool]:
    """A UUID, whose third and fourth groups tell of its version by what they begin with."""
    return _matching(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}[0-9a-f]{{3}}-?{fourth}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


def _network(text: str) -> object:
    if not re.search(r"/\d+$", text, re.ASCII):
        raise ValueError("must have the length of the prefix")
    return ipaddress.ip_network(text, strict=False)


def _address_6(text: str) -> object:
    if "%" in text:
        raise ValueError("zones are no part of an address")
    return ipaddress.IPv6Address(text)


def _day(text: str) -> object:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError("must be YYYY-MM-DD")
    return date.fromisoformat(text)


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": holds(lambda text: b64decode(text, validate=True)),
    "cidr": holds(_network),
    "date": holds(_day),
    "datetime": holds(parse_time),
    "ipv4": holds(ipaddress.IPv4Address),
    "ipv6": holds(_address_6),
    "mac": _matching(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}|[0-9a-f]{2}(-[0-9a-f]{2}){5}|[0-9a-f]{4}(\.[0-9a-f]{4}){2}"),
    "uuid": _uuid(),
    "uuid3": _uuid(third="3"),
    "uuid4": _uuid(third="4", fourth="[89ab]"),
    "uuid5": _uuid(third="5", fourth="[89ab]"),
}
