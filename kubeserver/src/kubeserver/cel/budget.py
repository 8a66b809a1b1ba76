"""Budget of what the rules of one object may cost, so that no object and no rule holds up everybody else.

The cost of asking one rule is estimated before it is asked: every value that it can see is handed over once, and a
comprehension looks at each member of the longest list or map, to the power of how deep comprehensions are nested, where
each look may read the longest text. A regular expression is read at each look, and may look at each of its states for
each letter of the text (`matching_of`): of the longest one, or of all texts together where the rule compares members
with it, which are no longer than that (`each_matched`). It never estimates too low by more than a factor.

Kubernetes: apiserver/pkg/cel; the same idea and the same words. Differs: there the cost is counted while a rule runs,
and estimated when a definition is written; here it is estimated when it is asked.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from kubeserver.cel.member_matching import LITERAL

MAX_STEPS = 10_000
"""Most steps of all comprehensions of one rule; the CEL library counts them and gives up."""
OBJECT_BUDGET = 5_000_000
"""Budget for all rules of one write: less than a second, or two of regular expressions at the worst."""
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_CHARACTERS_PER_UNIT = 10
_REGULAR = re.compile(r"\b(matches|find|findAll)\s*\(")
_UNKNOWN = re.compile(r"\b(matches|find|findAll)\s*\(\s*(?!'')")
_REPETITION = re.compile(r"(.)\{(\d*),?(\d*)\}")
MAX_REPETITIONS = 1_000
"""Most repetitions of one expression, nested ones together: the CEL library takes no more."""
UNKNOWN_WEIGHT = 100
_UNITS_PER_STATES = 5
"""Cost of reading an expression, for each `_STATES_PER_LETTER` of its states."""
_STATES_PER_LETTER = 8
"""Number of states that take as long as one letter that is only read."""
_MACRO = re.compile(r"\.(all|exists|exists_one|map|filter|existsOne|transformList|transformMap|transformMapEntry)\s*\(")


class Exhausted(Exception):
    """The budget does not suffice for the next rule."""


class Budget:
    """Budget that is left for one object."""

    def __init__(self, units: int = OBJECT_BUDGET) -> None:
        self._left = units
        self._measured: tuple[tuple[Any, ...], _Size] = ((), _Size(0, 0, 0, 0))
        """The values that were measured last: those of one place are the same for all of its rules."""

    def charge(self, nesting: int, *values: Any, matching: int = 1, each: int = 0) -> None:
        """Takes what a rule over `values` costs; `matching` is how much it makes of each letter, and `each` that of
        `each_matched`. Raises: Exhausted."""
        size = self._size_of(values)
        steps = min(size.longest**nesting, MAX_STEPS)
        cost = size.members + steps * (1 + size.text // _CHARACTERS_PER_UNIT)
        if matching > 1:
            rounds = min(size.longest ** max(nesting - 1, 0), MAX_STEPS)
            letters = rounds * each * size.letters if each else steps * size.text
            cost += steps * matching * _UNITS_PER_STATES + letters * matching // _CHARACTERS_PER_UNIT
        self._left -= cost
        if self._left < 0:
            raise Exhausted

    def _size_of(self, values: tuple[Any, ...]) -> "_Size":
        last, size = self._measured
        if len(last) != len(values) or any(one is not other for one, other in zip(last, values, strict=True)):
            size = _measure(values)
            self._measured = values, size
        return size


class _Size(NamedTuple):
    """`longest` is the length of the longest list or map, `text` that of the longest text, `letters` of all texts."""

    members: int
    longest: int
    text: int
    letters: int


def _measure(values: tuple[Any, ...]) -> _Size:
    members = longest = text = letters = 0
    for member in _members(values):
        members += 1
        if isinstance(member, str):
            text = max(text, len(member))
            letters += len(member)
        elif isinstance(member, dict | list):
            longest = max(longest, len(cast(list[Any], member)))
    return _Size(members, longest, text, letters)


def nesting_of(text: str) -> int:
    """Depth to which comprehensions are nested in a rule."""
    text = LITERAL.sub("''", text)
    opened = {match.end() - 1 for match in _MACRO.finditer(text)}
    stack: list[bool] = []
    deepest = 0
    for place, character in enumerate(text):
        if character == "(":
            stack.append(place in opened)
            deepest = max(deepest, sum(stack))
        elif character == ")" and stack:
            stack.pop()
    return deepest


def matching_of(text: str) -> int:
    """Weight that a rule gives to each letter by its regular expressions: 1 where it has none, or none with many
    states.

    A state is a letter of an expression, or one of so many repetitions; a group is repeated with all of its letters. An
    expression that is no literal may be anything.
    """
    asked = LITERAL.sub("''", text)
    if not _REGULAR.search(asked):
        return 1
    literals = [match.group() for match in LITERAL.finditer(text)]
    states, repeated = sum(map(len, literals)), 1
    for after, *numbers in (found for literal in literals for found in _REPETITION.findall(literal)):
        most = max(int(number[:5] or 0) for number in numbers)
        if after == ")":
            repeated = min(repeated * max(most, 1), MAX_REPETITIONS)
        else:
            states += most
    weight = max(1, states * repeated // _STATES_PER_LETTER)
    return weight if not _UNKNOWN.search(asked) else max(weight, UNKNOWN_WEIGHT)


def _members(values: Any) -> Iterator[Any]:
    """Everything in `values`, at any depth."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting.extend(cast(dict[str, Any], value).values())
            waiting.extend(cast(dict[str, Any], value))
        elif isinstance(value, list):
            waiting.extend(cast(list[Any], value))
