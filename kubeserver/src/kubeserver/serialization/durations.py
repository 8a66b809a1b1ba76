"""Durations as Go writes them: `1m30s`."""

import re

from kubeapi.status import quoted

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"(\d+\.?\d*|\.\d+)([^0-9.]*)", re.ASCII)


def duration_fault(text: str) -> str:
    """Fault of a duration, in the words of Go's parser; empty where it is one."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return ""
    if not rest:
        return f"time: invalid duration {quoted(text)}"
    while rest:
        amount = _AMOUNT.match(rest)
        if amount is None:
            return f"time: invalid duration {quoted(text)}"
        unit = amount[2]
        if not unit:
            return f"time: missing unit in duration {quoted(text)}"
        if unit not in _SECONDS:
            return f"time: unknown unit {quoted(unit)} in duration {quoted(text)}"
        rest = rest[amount.end() :]
    return ""


def parse_duration(text: str) -> float:
    """Seconds. Raises: ValueError in the words of Go's parser."""
    if fault := duration_fault(text):
        raise ValueError(fault)
    seconds = sum(float(amount) * _SECONDS[unit] for amount, unit in _AMOUNT.findall(text) if unit)
    return -seconds if text.startswith("-") else seconds
