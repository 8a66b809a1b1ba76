"""The rules of a schema that are written in CEL, and what they say about a value.

A rule that mentions `oldSelf` is about a change: it is asked only where there was a value before, under the same field
or with the same keys. Any other is not asked about what is as it was.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.status import Problem
from kubeserver.apiextensions.node import Node
from kubeserver.apiextensions.old_values import ABSENT, keyed_items
from kubeserver.apiextensions.rule_values import seen_by_rules
from kubeserver.cel import (
    OUT_OF_BUDGET,
    Budget,
    Exhausted,
    Program,
    Unwritable,
    compile_program,
    each_matched,
    matching_of,
    nesting_of,
    with_optional_old,
)
from kubeserver.values import entries

_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


@dataclass(frozen=True, slots=True)
class Rule:
    program: Program
    text: str
    message: str
    message_program: Program | None
    reason: str
    field_path: str
    about_change: bool
    optional_old: bool
    knows_old: bool
    nesting: int
    matching: int
    each: int


def compile_rules(raw: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of one place of a schema. One that cannot be compiled any more has no result."""
    return tuple(_compile_rule(rule) for rule in entries(raw, "x-kubernetes-validations"))


def compile_rule(text: str, optional_old: bool) -> Program:
    """Raises: Unwritable."""
    return compile_program(with_optional_old(text) if optional_old else text)


def has_rules(node: Node) -> bool:
    children = (*node.properties.values(), node.items, node.additional)
    return bool(node.raw.get("x-kubernetes-validations")) or any(has_rules(child) for child in children if child)


def check_rules(node: Node, value: Any, old: Any = ABSENT, path: str = "") -> Iterator[Problem]:
    """All rules at and below `path`, as far as the budget goes. Holds: the value has the types of the schema."""
    try:
        yield from _check(node, value, old, path, Budget())
    except Exhausted:
        yield Problem(path, "FieldValueInvalid", OUT_OF_BUDGET)


def _check(node: Node, value: Any, old: Any, path: str, budget: Budget) -> Iterator[Problem]:
    if value is None:
        return
    if rules := rules_of(node):
        seen, seen_old = seen_by_rules(node, value), ABSENT if old is ABSENT else seen_by_rules(node, old)
        for rule in rules:
            yield from _ask(rule, seen, seen_old, path, budget)
    if isinstance(value, dict):
        for name, item in cast(dict[str, Any], value).items():
            child = node.properties.get(name) or node.additional
            before = cast(dict[str, Any], old).get(name, ABSENT) if isinstance(old, dict) else ABSENT
            if child is not None:
                yield from _check(child, item, before, f"{path}.{name}" if path else name, budget)
    elif isinstance(value, list) and node.items is not None:
        olds = keyed_items(node, old)
        for index, item in enumerate(cast(list[Any], value)):
            yield from _check(node.items, item, olds.like(item), f"{path}[{index}]", budget)


def rules_of(node: Node) -> tuple[Rule, ...]:
    if node.rules is None:
        node.rules = compile_rules(node.raw)
    return cast(tuple[Rule, ...], node.rules)


def _ask(rule: Rule, value: Any, old: Any, path: str, budget: Budget) -> Iterator[Problem]:
    if old is ABSENT if rule.about_change else not rule.knows_old and old is not ABSENT and is_equal(value, old):
        return
    values = (value,) if old is ABSENT else (value, old)
    budget.charge(rule.nesting, *values, matching=rule.matching, each=rule.each)
    variables = {"self": value, "oldSelf": _old_self(rule, old)}
    try:
        if rule.program.evaluate(variables) is True:
            return
        message = _message(rule, variables)
    except ValueError as error:
        message = f"{error} evaluating rule: {rule.message or rule.text}"
    where = f"{path}{rule.field_path}" if path else rule.field_path.removeprefix(".")
    yield _problem(rule, where, value, message)


def _old_self(rule: Rule, old: Any) -> Any:
    """The old value; a list of at most one where the rule sees an optional one (`with_optional_old`)."""
    known = [] if old is ABSENT else [old]
    return known if rule.optional_old else next(iter(known), None)


def _problem(rule: Rule, path: str, value: Any, message: str) -> Problem:
    match rule.reason:
        case "FieldValueForbidden":
            return Problem.forbidden(path, message)
        case "FieldValueRequired":
            return Problem.required(path, message)
        case "FieldValueDuplicate":
            shown = "" if isinstance(value, dict | list) else f": {codec.encode(value).decode()}"
            return Problem(path, rule.reason, f"Duplicate value{shown}")
        case _ if isinstance(value, dict | list):
            return Problem(path, rule.reason, f"Invalid value: {message}")
        case _:
            return Problem(path, rule.reason, Problem.invalid(path, value, message).message)


def _message(rule: Rule, variables: Mapping[str, Any]) -> str:
    if rule.message_program is not None:
        said = rule.message_program.evaluate(variables)
        if isinstance(said, str) and said.strip():
            return said
    return rule.message or f"failed rule: {rule.text}"


def _compile_rule(rule: Mapping[str, Any]) -> Rule:
    text = str(rule.get("rule", ""))
    expression = str(rule.get("messageExpression") or "")
    reason = str(rule.get("reason") or "FieldValueInvalid")
    knows_old = bool(re.search(r"\boldSelf\b", text))
    optional_old = bool(rule.get("optionalOldSelf"))
    return Rule(
        program=_program(text, optional_old),
        text=text,
        message=str(rule.get("message") or "").strip(),
        message_program=_program(expression, optional_old) if expression else None,
        reason=reason if reason in _REASONS else "FieldValueInvalid",
        field_path=str(rule.get("fieldPath") or ""),
        about_change=knows_old and not optional_old,
        optional_old=optional_old,
        knows_old=knows_old,
        nesting=max(nesting_of(text), nesting_of(expression)),
        matching=max(matching_of(text), matching_of(expression)),
        each=_each(text, expression),
    )


def _program(text: str, optional_old: bool) -> Program:
    try:
        return compile_rule(text, optional_old)
    except Unwritable as error:
        return _Uncompiled(str(error))


@dataclass(frozen=True, slots=True)
class _Uncompiled:
    """Rule of a definition that is stored since an earlier version: what it is about may stay as it is."""

    why: str

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Raises: ValueError."""
        raise ValueError(f"compilation failed: {self.why}")


def _each(*texts: str) -> int:
    """The `each_matched` of both; 0 where it is so for one that compares anything."""
    known = [each_matched(text) for text in texts if text]
    return max(known) if all(known) else 0
