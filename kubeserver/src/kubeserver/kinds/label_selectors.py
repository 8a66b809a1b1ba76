"""Labels and label selectors as fields of objects."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.meta import LabelSelector, LabelSelectorRequirement
from kubeapi.selectors import Selector, selector_of
from kubeapi.status import Problem
from kubeserver.names import label_value, qualified_name
from kubeserver.values import entries, section

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def label_problems(labels: Mapping[str, str], path: str) -> Iterator[Problem]:
    for key, value in labels.items():
        yield from (Problem.invalid(path, key, said) for said in qualified_name(key))
        yield from (Problem.invalid(path, value, said) for said in label_value(value))


def selector_problems(selector: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from label_problems(section(selector, "matchLabels"), f"{path}.matchLabels")
    for index, expression in enumerate(entries(selector, "matchExpressions")):
        yield from _expression_problems(expression, f"{path}.matchExpressions[{index}]")


def _expression_problems(expression: Mapping[str, Any], path: str) -> Iterator[Problem]:
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator not in _OPERATORS:
        yield Problem.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif operator in ("In", "NotIn") and not values:
        yield Problem.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield Problem.forbidden(f"{path}.values", said)
    yield from (Problem.invalid(f"{path}.key", expression.get("key", ""), s) for s in _key(expression))
    for index, value in enumerate(values):
        yield from (Problem.invalid(f"{path}.values[{index}]", value, said) for said in label_value(value))


def _key(expression: Mapping[str, Any]) -> list[str]:
    return qualified_name(expression.get("key", ""))


def parsed(selector: Mapping[str, Any]) -> Selector:
    """Holds: `selector_problems` found none."""
    expressions = tuple(
        LabelSelectorRequirement(
            key=e.get("key", ""), operator=e.get("operator", ""), values=tuple(e.get("values") or ())
        )
        for e in entries(selector, "matchExpressions")
    )
    labels = section(selector, "matchLabels")
    return selector_of(LabelSelector(match_labels=labels, match_expressions=expressions))
