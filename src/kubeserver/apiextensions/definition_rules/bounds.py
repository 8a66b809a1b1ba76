"""Bounds on the expressions of one definition: all of them are compiled when it is written, one after the other.

Distinct texts count, over all versions. The largest definitions in use have some tens of patterns and rules.
Kubernetes: CEL has a budget of estimated cost for each rule and each definition; patterns have none there.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

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
    """Of a definition that has more than one may have; of an update, only of what it has not had before."""
    patterns, rules = _new(spec, before, "pattern"), _new(spec, before, "rule")
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


def _new(spec: Node, before: Node, what: str) -> set[str]:
    """Empty for an update that adds none: what was stored before can be changed otherwise, and made smaller."""
    now, then = (set(_texts(each["versions"].value, what)) for each in (spec, before))
    return now if now - then else set()


def _texts(schema: Any, what: str) -> Iterator[str]:
    """The patterns, or the rules with the expressions of their messages, anywhere below."""
    if isinstance(schema, list):
        for item in cast(list[Any], schema):
            yield from _texts(item, what)
    elif isinstance(schema, dict):
        for key, value in cast(dict[str, Any], schema).items():
            if key == "pattern" and isinstance(value, str) and what == "pattern":
                yield value
            elif key == "x-kubernetes-validations" and what == "rule":
                yield from _expressions(value)
            elif key == "properties" and isinstance(value, dict):
                yield from _texts(list(cast(dict[str, Any], value).values()), what)
            elif key not in _VALUES:
                yield from _texts(value, what)


def _expressions(rules: Any) -> Iterator[str]:
    for rule in cast(list[Any], rules) if isinstance(rules, list) else ():
        if isinstance(rule, Mapping):
            found = cast(Mapping[str, Any], rule)
            yield from (text for name in ("rule", "messageExpression") if isinstance(text := found.get(name), str))
