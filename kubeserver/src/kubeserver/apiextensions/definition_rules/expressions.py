"""Rules of a schema that are written in CEL, as they are declared: whether they can be compiled, and asked."""

import re
from typing import Any

from kubeapi.field import Node, Problems
from kubeserver.apiextensions.definition_rules.field_paths import field_at
from kubeserver.apiextensions.rules import compile_rule
from kubeserver.cel import Unwritable

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_BREAK = re.compile(r"[\n\r]")
_OLD_SELF = re.compile(r"\boldSelf\b")


def rule_problems(schema: Node, uncorrelated: str, *, compiles: bool) -> Problems:
    """`compiles`: what the rules mean is looked at, too. `uncorrelated`: see `schemas.Context`."""
    found: list[Any] = []
    for rule in schema["x-kubernetes-validations"].items():
        found += _form(schema, rule)
    yield from found
    if compiles and not found:
        for rule in schema["x-kubernetes-validations"].items():
            yield from _meaning(rule, uncorrelated)


def _form(schema: Node, rule: Node) -> Problems:
    text, message, expression, path = (rule[name] for name in ("rule", "message", "messageExpression", "fieldPath"))
    if not text.text.strip():
        yield text.required("rule is not specified")
    elif message.text and not message.text.strip():
        yield message.invalid("message must be non-empty if specified")
    elif _BREAK.search(message.text.strip()):
        yield message.invalid("message must not contain line breaks")
    elif _BREAK.search(text.text.strip()) and not message.text.strip():
        yield message.required("message must be specified if rule contains line breaks")
    if expression.text and not expression.text.strip():
        yield expression.required("messageExpression must be non-empty if specified")
    if rule["reason"].is_set and rule["reason"].text not in _REASONS:
        yield rule["reason"].not_supported(*_REASONS)
    if path.text and not path.text.strip():
        yield path.invalid("fieldPath must be non-empty if specified")
    if _BREAK.search(path.text):
        yield path.invalid("fieldPath must not contain line breaks")
    if path.text and field_at(schema, path.text) is None:
        yield path.invalid("fieldPath must be a valid path")


def _meaning(rule: Node, uncorrelated: str) -> Problems:
    for name, what in (("rule", "compilation failed"), ("messageExpression", "messageExpression compilation failed")):
        try:
            if rule[name].text.strip():
                compile_rule(rule[name].text, bool(rule["optionalOldSelf"].value))
        except Unwritable as error:
            yield rule[name].invalid(f"{what}: {error}", _shown(rule))
    if not _OLD_SELF.search(rule["rule"].text):
        if rule["optionalOldSelf"].is_set:
            yield rule["optionalOldSelf"].invalid("may not be set if oldSelf is not used in rule")
    elif uncorrelated:
        said = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
        yield rule["rule"].invalid(said)


def _shown(rule: Node) -> dict[str, Any]:
    """A rule, as kube-apiserver writes it in messages."""
    return {
        "Rule": rule["rule"].text,
        "Message": rule["message"].text,
        "MessageExpression": rule["messageExpression"].text,
        "Reason": rule["reason"].value,
        "FieldPath": rule["fieldPath"].text,
        "OptionalOldSelf": rule["optionalOldSelf"].value,
    }
