"""Aggregation of the statuses of copies: for each field of a status, what becomes of the clusters' values, as data.

A `Fold` gets the values that clusters report for one field, in the order of the clusters, and what the template's
status says so far. It returns the new value, or None to leave the field out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from kubeapi.diff import is_equal
from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mapping_at, value_at
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.plausible import MAX_NUMBER
from leeward.core.interpreter.rules import InterpretationError, Status

Number = int | float
Fold = Callable[[Sequence[Any], Any], Any]


def reported(items: Iterable[AggregatedStatusItem]) -> list[Mapping[str, Any]]:
    """The statuses in the order of the items, empty where a cluster has reported none."""
    return [mapping_at({"status": item.status}, "status") for item in items]


def fold_statuses(
    template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem], folds: Mapping[str, Fold]
) -> Status:
    """The template's status with each of the fields folded; its other fields stay. Raises: InterpretationError."""
    before = mapping_at(template, "status")
    statuses = reported(items)
    result = {name: value for name, value in before.items() if name not in folds}
    for name, fold in folds.items():
        values = [value for status in statuses if (value := status.get(name)) is not None]
        if (folded := fold(values, before.get(name))) is not None:
            result[name] = folded
    return result


def summed(values: Sequence[Any], before: Any) -> Number:
    return total_of(values)


def added(values: Sequence[Any], before: Any) -> Number | None:
    """Adds the sum to the number of the template; a template without one gets none."""
    return None if before is None else total_of([*values, before])


def latest(values: Sequence[Any], before: Any) -> Any:
    return values[-1] if values else None


def latest_or_kept(values: Sequence[Any], before: Any) -> Any:
    return values[-1] if values else before


def latest_or_empty(values: Sequence[Any], before: Any) -> Any:
    return values[-1] if values else ""


def latest_text(values: Sequence[Any], before: Any) -> Any:
    """Last value that is not empty."""
    return next((value for value in reversed(values) if value != ""), "")


def latest_said(values: Sequence[Any], before: Any) -> Any:
    """Last value that is not empty."""
    return latest_text(values, before) or None


def latest_said_or_kept(values: Sequence[Any], before: Any) -> Any:
    """Last value that is not empty, or the template's."""
    return latest_text(values, before) or before


def first(values: Sequence[Any], before: Any) -> Any:
    return values[0] if values else None


def greatest(values: Sequence[Any], before: Any) -> Any:
    return max(values, key=_order) if values else None


def least(values: Sequence[Any], before: Any) -> Any:
    return min(values, key=_order) if values else None


def joined(values: Sequence[Any], before: Any) -> list[Any] | None:
    """The lists one after the other."""
    return [each for value in values if isinstance(value, list) for each in cast("list[Any]", value)] or None


def merged(values: Sequence[Any], before: Any) -> dict[str, Any] | None:
    """The mappings as one; of two values of a key the later one counts."""
    return {key: each for value in values for key, each in mapping_at({"it": value}, "it").items()} or None


def observed_generation(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Any:
    """The template's generation once every copy was made from it and has been observed by its own controller.

    Until then, what the template's status says so far, or 0. A kind's status reflection tells these generations.
    Raises: InterpretationError.
    """
    if not isinstance(template.get("metadata"), dict):
        raise InterpretationError("metadata is missing")
    generation = value_at(template, "metadata", "generation") or 0
    if all(_is_current(status, generation) for status in reported(items)):
        return generation
    before = value_at(template, "status", "observedGeneration")
    return 0 if before is None else before


def _is_current(status: Mapping[str, Any], generation: Any) -> bool:
    names = ("resourceTemplateGeneration", "generation", "observedGeneration")
    made_from, own, observed = (status.get(name) or 0 for name in names)
    return is_equal(made_from, generation) and own == observed


def total_of(values: Iterable[Any]) -> Number:
    """The sum, cut down to what can be written. Raises: InterpretationError when one of them is no number."""
    total = sum(number(value) for value in values)
    return max(-MAX_NUMBER, min(total, MAX_NUMBER))


def number(value: Any) -> Number:
    """A number, or the text of one. Raises: InterpretationError."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        amount = float(value) if isinstance(value, str) else None
    except ValueError:
        amount = None
    if amount is None or amount != amount:
        raise InterpretationError(f"{value!r} is no number")
    return int(amount) if amount.is_integer() else amount


def count(value: Any) -> int:
    """A number of replicas; a fraction is cut off. Raises: InterpretationError."""
    amount = number(value)
    if not -(2**31) <= amount < 2**31:
        raise InterpretationError(f"{value!r} is no number of 32 bits")
    return int(amount)


def _order(value: Any) -> tuple[bool, Any]:
    """Numbers before texts; what is neither cannot be compared. Raises: InterpretationError."""
    if isinstance(value, str):
        return True, value
    return False, number(value)
