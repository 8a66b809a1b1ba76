"""Fields of the statuses that clusters have reported, and their sums."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeapi.unstructured import mapping_at
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.plausible import plausible_count


def statuses(items: Iterable[AggregatedStatusItem]) -> list[Mapping[str, Any]]:
    """The statuses that clusters have reported."""
    return [mapping_at({"status": item.status}, "status") for item in items if item.status is not None]


def total(items: Iterable[AggregatedStatusItem], names: Iterable[str], required: Sequence[str] = ()) -> dict[str, Any]:
    """The sums of these counts over all items; zero is left out, unless the API requires the field."""
    reported = statuses(items)
    sums = {name: plausible_count(sum(plausible_count(status.get(name)) for status in reported)) for name in names}
    return {name: count for name, count in sums.items() if count or name in required}
