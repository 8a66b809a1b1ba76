"""Bounds on the expressions of one definition: all of them are compiled when it is written, one after the other.

Distinct texts count, over all versions. The largest definitions in use have some tens of patterns and rules.
Kubernetes: CEL has a budget of estimated cost for each rule and each definition; patterns have none there.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from kubeapi.field import Node, Problems
from kubeapi.status import Problem
from kubeserver.apiextensions.patterns import REMEMBERED_LARGE_PATTERNS, is_large

MOST_PATTERNS = 1_000
MOST_LARGE_PATTERNS = REMEMBERED_LARGE_PATTERNS
MOST_RULES = 1_000
MOST_RULE_LETTERS = 256 * 1024
_VALUES = ("default", "example", "enum")
"""Keywords with values below them, and no schemas; a field may be called so."""
_WAY_OUT = "; make several definitions of it, or check the rest in an admission policy or webhook"


def expression_bounds_problems(spec: Node, before: Node) -> Problems:
    """Problems of a definition that has more than one may have; of an update, only of what it has not had before."""
    now, then = _expressions_of(spec), _expressions_of(before)
    patterns, rules = _new(now.patterns, then.patterns), _new(now.rules, then.rules)
    versions = spec["versions"]
    if len(patterns) > MOST_PATTERNS:
        yield _too_many(versions, len(patterns), f"{MOST_PATTERNS} distinct patterns")
    elif (large := sum(map(is_large, patterns))) > MOST_LARGE_PATTERNS:
        yield _too_many(versions, large, f"{MOST_LARGE_PATTERNS} patterns that are large when they are compiled")
    if len(rules) > MOST_RULES:
        yield _too_many(versions, len(rules), f"{MOST_RULES} distinct expressions in x-kubernetes-validations")
    elif (letters := sum(map(len, rules))) > MOST_RULE_LETTERS:
        yield _too_many(versions, letters, f"{MOST_RULE_LETTERS} letters in expressions of x-kubernetes-validations")


def _too_many(versions: Node, count: int, bound: str) -> Problem:
    return versions.too_many(count, f"must have at most {bound} in all schemas together{_WAY_OUT}")


def _new(now: set[str], then: set[str]) -> set[str]:
    """Texts to be counted; none for an update that adds none: what was stored before can be changed otherwise, and made
    smaller."""
    return now if now - then else set()


class _Expressions(NamedTuple):
    """Distinct texts of one definition; the rules with the expressions of their messages."""

    patterns: set[str]
    rules: set[str]


def _expressions_of(spec: Node) -> _Expressions:
    found = _Expressions(set(), set())
    _collect(spec["versions"].value, found)
    return found


def _collect(schema: Any, found: _Expressions) -> None:
    """Adds the patterns and the rules anywhere below."""
    if isinstance(schema, list):
        for item in cast(list[Any], schema):
            _collect(item, found)
    elif isinstance(schema, dict):
        for key, value in cast(dict[str, Any], schema).items():
            if isinstance(value, str):
                if key == "pattern":
                    found.patterns.add(value)
            elif key == "x-kubernetes-validations":
                found.rules.update(_texts_of(value))
            elif key == "properties" and isinstance(value, dict):
                _collect(list(cast(dict[str, Any], value).values()), found)
            elif key not in _VALUES:
                _collect(value, found)


def _texts_of(rules: Any) -> Iterator[str]:
    for rule in cast(list[Any], rules) if isinstance(rules, list) else ():
        if isinstance(rule, Mapping):
            found = cast(Mapping[str, Any], rule)
            yield from (text for name in ("rule", "messageExpression") if isinstance(text := found.get(name), str))
