"""Silence: the doubt of clusters that fell silent at once, which holds evictions for a bounded time (`brake.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubeapi.meta import format_time
from leeward.api.taint_record import instant_in
from leeward.core.cluster_health.watched_time import WatchedTime


@dataclass(frozen=True, slots=True)
class Silence:
    """Doubt of clusters that fell silent at once, `since` then; it ends when it has been quiet for long enough.

    `spent`: its bound is over, or somebody has released the brake. It holds nothing any more.
    """

    since: datetime
    spent: bool = False
    quiet_since: datetime | None = None


def follow_silence(
    known: Silence | None,
    now: datetime,
    bounds: tuple[float, float],
    watched: WatchedTime,
    *,
    is_silent: bool,
    overruled: bool,
) -> Silence | None:
    """The doubt as it is now; None where there is none. `bounds` are seconds: for the hold, and for the quiet after
    it."""
    if not is_silent and known is None:
        return None
    since = now if known is None else min(known.since, now)
    is_over = now >= watched.moved(since) + timedelta(seconds=bounds[0])
    spent = is_over or overruled or (known is not None and known.spent)
    if is_silent or known is None:
        return Silence(since, spent)
    quiet = Silence(since, spent, min(known.quiet_since or now, now))
    over_at = quiet_enough_at(quiet, bounds[1], watched)
    return None if over_at is not None and now >= over_at else quiet


def quiet_enough_at(silence: Silence | None, seconds: float, watched: WatchedTime) -> datetime | None:
    """Instant at which it has been quiet for so long; None while it is not quiet."""
    if silence is None or silence.quiet_since is None:
        return None
    return watched.moved(silence.quiet_since) + timedelta(seconds=seconds)


def parse_silence(data: Mapping[str, str]) -> Silence | None:
    """Reads it from the data of the brake's ConfigMap."""
    since = instant_in(data.get("silenceSince"))
    spent, quiet_since = data.get("silenceSpent") == "true", instant_in(data.get("silenceQuietSince"))
    return None if since is None else Silence(since, spent, quiet_since)


def render_silence(silence: Silence | None) -> dict[str, str]:
    if silence is None:
        return {}
    data = {"silenceSince": format_time(silence.since)}
    if silence.spent:
        data["silenceSpent"] = "true"
    if silence.quiet_since is not None:
        data["silenceQuietSince"] = format_time(silence.quiet_since)
    return data
