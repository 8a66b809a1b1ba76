"""Wording of lists of names in messages."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

_PLURALS = (("is ", "are "), ("has ", "have "), ("does ", "do "))


def listed(names: Iterable[str]) -> str:
    """`fra-1, fra-2 and fra-3`; empty where there are none."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def first_of(names: Sequence[str], most_named: int = 5) -> str:
    """`fra-1, fra-2 and 7 more`; empty where there are none."""
    more = len(names) - most_named
    return ", ".join(names[:most_named]) + (f" and {more} more" if more > 0 else "")


def listed_by_reason(reasons: Mapping[str, str], most_named: int) -> Iterator[str]:
    """`fra-2 and fra-3 are down`, for each reason of clusters: those that most share come first.

    `reasons` by name of cluster, each a verb in the singular. Of more than `most_named` only the number is told.
    """
    by_reason = defaultdict[str, list[str]](list)
    for name, reason in reasons.items():
        by_reason[reason].append(name)
    for reason, names in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[1])):
        plural = next((reason.replace(one, many, 1) for one, many in _PLURALS if reason.startswith(one)), reason)
        who = listed(names) if len(names) <= most_named else f"{len(names)} clusters"
        yield f"{who} {reason if len(names) == 1 else plural}"
