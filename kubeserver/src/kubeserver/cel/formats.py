"""Formats in CEL: `format.dns1123Label().validate(text)`, which has no value where the text has that form.

What is optional is a list of at most one item here; `spelling.with_optionals` makes of it what expressions see.
"""

import base64
import re
from collections.abc import Callable, Mapping
from datetime import date

from kubeapi.meta import exact_time
from kubeserver import names
from kubeserver.cel.function import Function, Typed
from kubeserver.cel.network import read_url
from kubeserver.values import holds


def _validate(value: Typed, text: str) -> list[list[str]]:
    """List of at most one list of faults; it is empty where the text has the form."""
    found = _FORMATS[value["format"]](text)
    return [found] if found else []


def _named_format(name: str) -> list[Mapping[str, str]]:
    return [{"format": name}] if name in _FORMATS else []


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Check of what comes before a generated part: it may end with a dash."""
    return lambda text: check(f"{text[:-1]}a" if text.endswith("-") else text)


def _matching(pattern: str, what: str) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern)
    return lambda text: [] if compiled.fullmatch(text) else [f"is no {what}"]


def _readable(read: Callable[[str], object], what: str) -> Callable[[str], list[str]]:
    is_readable = holds(read)
    return lambda text: [] if is_readable(text) else [f"is no {what}"]


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.dns_label,
    "dns1123Subdomain": names.dns_subdomain,
    "dns1035Label": names.dns_1035_label,
    "dns1123LabelPrefix": _prefix(names.dns_label),
    "dns1123SubdomainPrefix": _prefix(names.dns_subdomain),
    "dns1035LabelPrefix": _prefix(names.dns_1035_label),
    "qualifiedName": names.qualified_name,
    "labelValue": names.label_value,
    "uri": _readable(read_url, "URI"),
    "uuid": _matching(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", "UUID"),
    "byte": _readable(lambda text: base64.b64decode(text or "?", validate=True), "base64"),
    "date": _readable(lambda text: date.fromisoformat((_DAY.fullmatch(text) and text) or ""), "date"),
    "datetime": _readable(exact_time, "time in RFC 3339"),
}


def _format(name: str) -> Function:
    return Function(f"format.{name}", "typed", lambda: {"format": name}, member=False)


FORMAT_FUNCTIONS = (
    *map(_format, _FORMATS),
    Function("validate", "list map string", _validate),
    Function("format.named", "list string", _named_format, member=False),
)
