"""Instants, spans and counts as people read them: an instant in UTC, and beside it how far away it is."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from kubeapi.meta import parse_time

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """`28 s`, `11 min`, `9 h`, `20 d`: to the nearest one; never less than nothing."""
    return long_span(seconds, units=1)


def full_span(seconds: float) -> str:
    """`5 min 30 s`, to the nearest second."""
    return long_span(seconds, units=len(_UNITS))


def long_span(seconds: float, units: int = 2) -> str:
    """`28 s`, `11 min 22 s`, `1 h 5 min`: in so many units at most, to the nearest of the last; never less than
    nothing."""
    whole = max(0, round(seconds))
    first = next((index for index, (size, _) in enumerate(_UNITS) if whole >= size), len(_UNITS) - 1)
    last = _UNITS[min(first + units, len(_UNITS)) - 1][0]
    rest, parts = (whole + last // 2) // last * last, list[str]()
    for size, name in _UNITS:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number} {name}")
    return " ".join(parts) or "0 s"


def moment(instant: datetime, now: datetime) -> str:
    """`02:30:17` on the same day, `2 Nov` in the same year, else `2 Nov 2025`; in UTC."""
    there, here = instant.astimezone(UTC), now.astimezone(UTC)
    if there.date() == here.date():
        return f"{there:%H:%M:%S}"
    return f"{there.day} {there:%b}" if there.year == here.year else f"{there.day} {there:%b %Y}"


def full_moment(instant: datetime) -> str:
    """`02:41:17 UTC, 22 Nov 2026`"""
    there = instant.astimezone(UTC)
    return f"{there:%H:%M:%S} UTC, {there.day} {there:%b %Y}"


def since(instant: datetime | None, now: datetime, reason: str = "") -> str:
    """` (NoPlaceToGo, since 02:30:17, 11 min ago)`, with a space before it, or as much of it as is known."""
    ago = "" if instant is None else f"since {moment(instant, now)}, {span((now - instant).total_seconds())} ago"
    said = ", ".join(filter(None, (reason, ago)))
    return f" ({said})" if said else ""


def in_moments(text: str, now: datetime) -> str:
    """The text of a condition or an event with its instants as the lines beside it tell them: `02:30:17` on the same
    day, else `2 Nov 02:30:17`."""
    return _INSTANT.sub(lambda found: _clock_time(found[0], now), text)


def _clock_time(instant: str, now: datetime) -> str:
    with suppress(ValueError):
        there = parse_time(instant)
        said = moment(there, now)
        return said if ":" in said else f"{said} {there:%H:%M:%S}"
    return instant


def at(instant: datetime, now: datetime) -> str:
    """`at 02:45:17 (in 4 min)`, or `now`."""
    seconds = (instant - now).total_seconds()
    return f"at {moment(instant, now)} (in {span(seconds)})" if seconds > 0 else "now"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 application`, `5 applications`"""
    return f"{number} {one if number == 1 else many or one + 's'}"


def places(targets: Mapping[str, int]) -> str:
    """`member1:1 member2:2`"""
    return " ".join(f"{name}:{replicas}" for name, replicas in sorted(targets.items())) or "nowhere"


def counted_kind(number: int, kind: str) -> str:
    """`1 Ingress`, `2 Ingresses`, `3 NetworkPolicies`"""
    return counted(
        number, kind, f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}{'es' if kind.endswith('s') else 's'}"
    )
