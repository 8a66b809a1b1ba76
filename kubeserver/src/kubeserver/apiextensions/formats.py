"""The formats of strings in schemas. Those that are not here say what a string is for, and hold nobody to it.

Kubernetes: kube-openapi/pkg/validation/strfmt, as far as apiextensions takes them; the same texts have them, also where
another reader of the standard would not say so: `my-host-1` is no hostname, `1 day` is a duration, `fff` is a colour.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date

from kubeserver.apiextensions.mail_addresses import read_mailbox
from kubeserver.cel.network import read_url
from kubeserver.go_patterns import Pattern
from kubeserver.values import holds

_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NUMBER_TO_255 = r"\s*(0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])\s*"
_CARDS = r"4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}"
_LETTER = r"[a-zA-Z0-9\p{S}\p{L}]"
_HOSTNAME = Pattern(
    rf"^({_LETTER}(-?{_LETTER}{{0,62}})?|({_LETTER}([-a-zA-Z0-9\p{{S}}\p{{L}}]{{0,61}}{_LETTER})?\.)+[a-zA-Z\p{{L}}]{{2,63}})$"
)
_LONGEST_HOSTNAME, _LONGEST_LABEL = 255, 63
_DURATION = re.compile(r"[-+]?((\d++\.?\d*+|\.\d++)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0", re.ASCII)
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_AMOUNT = re.compile(r"(?<!\d)(\d++)[\t\n\f\r ]*+([A-Za-zµ]+)", re.ASCII)
_UNIT = re.compile(r"ns|nano\w*|us|µs|micro\w*|ms|milli\w*|s|sec\w*|m|min\w*|h|hr|hour\w*|d|day\w*|w|wk|week\w*", re.I)
_HIGHEST = 2**63 - 1


def has_format(text: str, name: str) -> bool:
    check = _FORMATS.get(_normal(name))
    return check is None or check(text)


def is_known(name: str) -> bool:
    return _normal(name) in _FORMATS


def _normal(name: str) -> str:
    return name.replace("-", "")


def _matching(pattern: str, flags: re.RegexFlag = re.ASCII, most: int | None = None) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: (most is None or len(text) <= most) and compiled.fullmatch(text) is not None


def _uuid(third: str = "[0-9a-f]", fourth: str = "[0-9a-f]") -> Callable[[str], bool]:
    """A UUID, whose third and fourth groups tell of its version by what they begin with."""
    pattern = rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}[0-9a-f]{{3}}-?{fourth}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
    return _matching(pattern, re.ASCII | re.IGNORECASE)


def _is_mac(text: str) -> bool:
    """6, 8 or 20 bytes: in pairs of digits, in fours, or all together."""
    for separator, size in ((":", 2), ("-", 2), (".", 4)):
        if separator in text:
            groups = text.split(separator)
            return len(groups) * size in (12, 16, 40) and all(re.fullmatch(f"[0-9a-fA-F]{{{size}}}", g) for g in groups)
    return re.fullmatch(r"[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40}", text) is not None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address whose decimal numbers may begin with zeros."""
    if "%" in text:
        raise ValueError("zones are no part of an address")
    head, colon, tail = text.rpartition(":")
    return ipaddress.ip_address(head + colon + (re.sub(r"\b0+(?=\d)", "", tail) if "." in tail else tail))


def _network(text: str) -> None:
    address, _, length = text.partition("/")
    if not re.fullmatch(r"\d+", length, re.ASCII) or int(length[-9:]) > _address(address).max_prefixlen:
        raise ValueError("must have the length of the prefix")


def _address_6(text: str) -> object:
    if "%" in text:
        raise ValueError("zones are no part of an address")
    return ipaddress.IPv6Address(text)


def _day(text: str) -> None:
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError("must be YYYY-MM-DD")
    year, month, day = map(int, found.groups())
    date(year or 2000, month, day)


def _is_time(text: str) -> bool:
    day, separator, rest = text.lower().partition("t")
    time = _TIME.fullmatch(rest.partition("t")[0])
    in_day = time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"
    return bool(separator) and in_day and holds(_day)(day)


def _is_duration(text: str) -> bool:
    """Amounts of units anywhere in a text; but for them, one as Go writes it."""
    amounts = _AMOUNT.findall(text)
    if any(len(number) > 19 or int(number) > _HIGHEST for number, _ in amounts):
        return False
    return any(_UNIT.fullmatch(unit) for _, unit in amounts) or _DURATION.fullmatch(text) is not None


def _is_hostname(text: str) -> bool:
    labels = text.encode().split(b".")
    return (
        _HOSTNAME.matches(text)
        and len(text.encode()) <= _LONGEST_HOSTNAME
        and all(len(label) <= _LONGEST_LABEL for label in labels)
    )


def _is_isbn_10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        return False
    return sum(place * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn_13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch(r"\d{13}", digits, re.ASCII):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return re.fullmatch(_CARDS, digits, re.ASCII) is not None and sum(sum(divmod(n, 10)) for n in doubled) % 10 == 0


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
    "byte": _matching(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": holds(_network),
    "creditcard": _is_card,
    "date": holds(_day),
    "datetime": _is_time,
    "duration": _is_duration,
    "email": holds(read_mailbox),
    "hexcolor": _matching("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and holds(_address)(text),
    "ipv6": holds(_address_6),
    "isbn": lambda text: _is_isbn_10(text) or _is_isbn_13(text),
    "isbn10": _is_isbn_10,
    "isbn13": _is_isbn_13,
    "k8slongname": _matching(rf"{_NAME}(\.{_NAME})*", most=253),
    "k8sshortname": _matching(_NAME, most=63),
    "mac": _is_mac,
    "password": lambda text: True,
    "rgbcolor": _matching(rf"rgb\({_NUMBER_TO_255},{_NUMBER_TO_255},{_NUMBER_TO_255}\)"),
    "ssn": lambda text: re.fullmatch(r"\d{3}[- ]?\d\d[- ]?\d{4}", text, re.ASCII) is not None and len(text) == 11,
    "uri": holds(read_url),
    "uuid": _uuid(),
    "uuid3": _uuid(third="3"),
    "uuid4": _uuid(third="4", fourth="[89ab]"),
    "uuid5": _uuid(third="5", fourth="[89ab]"),
}
