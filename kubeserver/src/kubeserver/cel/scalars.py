"""`string` and `getMilliseconds` in CEL, as Go's library has them: `.5Z`, and 1500 for one and a half seconds.

Python's times have no nanoseconds, and are in UTC: anything finer is cut off, and an offset is not kept.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from kubeserver.cel.function import Function, Typed
from kubeserver.values import go_number

_MILLISECOND, _MICROSECOND = timedelta(milliseconds=1), timedelta(microseconds=1)


def _time(instant: datetime) -> str:
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").removesuffix(".") + "Z" if "." in text else f"{text}Z"


def _duration(value: timedelta) -> str:
    seconds = Decimal(value // _MICROSECOND) / 1_000_000
    return f"{seconds.normalize():f}s"


def _typed(value: Typed) -> str:
    for kind in ("ip", "cidr"):
        if kind in value:
            return value[kind]
    raise ValueError("has no form as a string")


def _of_bytes(value: bytes) -> str:
    return value.decode()


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _of_second(instant: datetime) -> int:
    return instant.microsecond // 1_000


def _of_second_in(instant: datetime, zone: str) -> int:
    """Raises: ValueError for what is no time zone."""
    try:
        datetime.strptime(zone.lstrip("+-"), "%H:%M").replace(tzinfo=UTC) if ":" in zone else ZoneInfo(zone)
    except (KeyError, OSError) as error:
        raise ValueError(f"unknown time zone {zone}") from error
    return _of_second(instant)


def _total(value: timedelta) -> int:
    return int(value / _MILLISECOND)


SCALAR_FUNCTIONS = (
    Function("asText", "string bool", _truth, member=False),
    Function("asText", "string int", str, member=False),
    Function("asText", "string uint", str, member=False),
    Function("asText", "string double", go_number, member=False),
    Function("asText", "string string", str, member=False),
    Function("asText", "string bytes", _of_bytes, member=False),
    Function("asText", "string timestamp", _time, member=False),
    Function("asText", "string duration", _duration, member=False),
    Function("asText", "string map", _typed, member=False),
    Function("inMilliseconds", "int timestamp", _of_second),
    Function("inMilliseconds", "int timestamp string", _of_second_in),
    Function("inMilliseconds", "int duration", _total),
)
