"""Time after which a server that has too much to do wants to be asked again: `Retry-After`, in seconds or as a date.

A date is compared with the `Date` of the same answer, so that clocks need not agree.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec.structs import replace

from kubeapi.errors import ApiError, TooManyRequests, error_of
from kubeapi.loop import SystemClock
from kubeapi.status import StatusDetails

MOST_SECONDS = 10**9
_MOST_DIGITS = 9


def retry_after_seconds(headers: Mapping[str, str]) -> int | None:
    """Seconds that the headers of an answer ask for, at most `MOST_SECONDS`; None where they ask for nothing, or cannot
    be read."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= _MOST_DIGITS else MOST_SECONDS
    instant = _instant_of(text)
    if instant is None:
        return None
    left = instant - (_instant_of(headers.get("date", "")) or SystemClock().now())
    return min(max(math.ceil(left.total_seconds()), 0), MOST_SECONDS)


def error_of_answer(code: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """Exception as `error_of`; that of 429 says after how long the headers ask to come again."""
    error, seconds = error_of(code, body), retry_after_seconds(headers)
    if seconds is None or not isinstance(error, TooManyRequests):
        return error
    details = replace(error.status.details or StatusDetails(), retry_after_seconds=seconds)
    return TooManyRequests(replace(error.status, details=details))


def _instant_of(text: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
