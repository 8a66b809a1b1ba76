"""Label and field selectors: their meaning on maps of strings, and their text form in queries.

Source of the rules: apimachinery's `labels.Selector`. An invalid selector matches nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubeapi.meta import LabelSelector

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
_VALUE = rf"(?=.{{0,63}}\Z)(?:{_NAME})?"
_KEY = rf"(?:{_NAME}/)?{_NAME}"
_REQUIREMENT = re.compile(
    rf"\s*(?:(?P<absent>!)\s*)?(?P<key>{_KEY})\s*"
    rf"(?:(?P<set>in|notin)\s*\((?P<values>[^)]*)\)|(?P<op>==|!=|=|>|<)\s*(?P<value>[^,()=!<>]*))?\s*(?:,|$)"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One test: `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
            case _:
                return False

    def _compares(self, value: str | None) -> bool:
        try:
            actual, wanted = int(value or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return actual > wanted if self.operator == "Gt" else actual < wanted


Selector = tuple[Requirement, ...]
"""Requirements that must all match; the empty selector matches everything."""

_NOTHING = Requirement("", "Never")


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    return all(requirement.matches(labels) for requirement in selector)


def parse_selector(text: str) -> Selector:
    """Reads `a=b,c!=d,e in (f,g),!h`. Raises: ValueError that quotes the part which is wrong."""
    requirements: list[Requirement] = []
    position = 0
    while position < len(text):
        match = _REQUIREMENT.match(text, position)
        if match is None or match.end() == position:
            raise ValueError(f"unable to parse requirement: {text[position:]!r}")
        requirement = _requirement_of(match)
        if not all(re.fullmatch(_VALUE, value) for value in requirement.values):
            raise ValueError(f"unable to parse requirement: {match[0].strip()!r} has a value that no label can have")
        requirements.append(requirement)
        position = match.end()
    return tuple(requirements)


def _requirement_of(match: re.Match[str]) -> Requirement:
    key, operator = match["key"], match["op"]
    if match["absent"]:
        return Requirement(key, "DoesNotExist")
    if match["set"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return Requirement(key, "In" if match["set"] == "in" else "NotIn", values)
    if operator is None:
        return Requirement(key, "Exists")
    value = match["value"].strip()
    return Requirement(key, {"!=": "NotIn", ">": "Gt", "<": "Lt"}.get(operator, "In"), (value,))


def selector_of(selector: LabelSelector | None) -> Selector:
    """The tests of a `metav1.LabelSelector`; None matches everything, an invalid one nothing."""
    if selector is None:
        return ()
    exact = tuple(Requirement(key, "In", (value,)) for key, value in selector.match_labels.items())
    expressions = tuple(
        Requirement(e.key, e.operator, e.values) if _is_valid(e.operator, e.values) else _NOTHING
        for e in selector.match_expressions
    )
    return (*exact, *expressions)


def _is_valid(operator: str, values: tuple[str, ...]) -> bool:
    match operator:
        case "In" | "NotIn":
            return bool(values)
        case "Exists" | "DoesNotExist":
            return not values
        case _:
            return False
