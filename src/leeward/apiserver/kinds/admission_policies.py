"""Defaults and rules of ValidatingAdmissionPolicies and their bindings, and what mutating ones share with them.

Kubernetes: pkg/apis/admissionregistration; the same rules. Differs: expressions are compiled, but their types are not
checked against the schemas of the matched kinds: `status.typeChecking` stays empty.
"""

import re
from typing import Any

from leeward.api.meta import Manifest
from leeward.api.rules.node import Node, Problems
from leeward.api.status import Problem
from leeward.apiserver.kinds.names import qualified_name
from leeward.apiserver.kinds.webhook_configurations import condition_problems, expression_problems, rule_problems
from leeward.apiserver.values import entries, grown

VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")
REASONS = ("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FAILURE_POLICIES = ("Fail", "Ignore")
_MATCHES, _NOT_FOUND = ("Equivalent", "Exact"), ("Allow", "Deny")


def default_policy(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        _default_match(spec["matchConstraints"])


def default_binding(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    if "matchResources" in spec:
        _default_match(spec["matchResources"])


def validate_policy(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    return list(_policy_problems(Node("spec", manifest.get("spec"))))


def validate_binding(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = Node("spec", manifest.get("spec"))
    return [*binding_problems(spec), *_action_problems(spec["validationActions"])]


def _default_match(match: dict[str, Any]) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    grown(match, "namespaceSelector")
    grown(match, "objectSelector")
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in entries(match, field):
            rule.setdefault("scope", "*")


def _policy_problems(spec: Node) -> Problems:
    yield from choice_problems(spec["failurePolicy"], FAILURE_POLICIES)
    yield from param_kind_problems(spec["paramKind"])
    if not spec["matchConstraints"].is_set:
        yield spec["matchConstraints"].required("")
    elif not spec["matchConstraints"]["resourceRules"].list:
        yield spec["matchConstraints"]["resourceRules"].required("")
    yield from match_problems(spec["matchConstraints"])
    yield from condition_problems(spec["matchConditions"], VARIABLES)
    if not (spec["validations"].list or spec["auditAnnotations"].list):
        for field in ("validations", "auditAnnotations"):
            yield spec[field].required("validations or auditAnnotations must be non-empty")
    for validation in spec["validations"].items():
        yield from _validation_problems(validation)
    yield from _annotation_problems(spec["auditAnnotations"])
    yield from variable_problems(spec["variables"])


def param_kind_problems(kind: Node) -> Problems:
    if not kind.is_set:
        return
    if not kind["apiVersion"].text:
        yield kind["apiVersion"].required("")
    elif kind["apiVersion"].text.count("/") > 1:
        yield kind["apiVersion"].invalid("must be VERSION or GROUP/VERSION")
    if not kind["kind"].text:
        yield kind["kind"].required("")


def _validation_problems(validation: Node) -> Problems:
    yield from expression_problems(validation["expression"], VARIABLES)
    if validation["messageExpression"].text:
        yield from expression_problems(validation["messageExpression"], VARIABLES)
    if "\n" in validation["message"].text.strip():
        yield validation["message"].invalid("message must not contain line breaks")
    yield from choice_problems(validation["reason"], REASONS)


def _annotation_problems(annotations: Node) -> Problems:
    seen: set[str] = set()
    for annotation in annotations.items():
        key = annotation["key"]
        if faults := qualified_name(key.text):
            yield key.invalid(faults[0])
        elif key.text in seen:
            yield key.duplicate(f'"{key.text}"')
        seen.add(key.text)
        yield from expression_problems(annotation["valueExpression"], VARIABLES)


def variable_problems(variables: Node) -> Problems:
    seen: set[str] = set()
    for variable in variables.items():
        name = variable["name"]
        if not name.text:
            yield name.required("name is not specified")
        elif not _IDENTIFIER.fullmatch(name.text):
            yield name.invalid("name is not a valid CEL identifier")
        elif name.text in seen:
            yield name.duplicate(f'"{name.text}"')
        seen.add(name.text)
        yield from expression_problems(variable["expression"], VARIABLES)


def binding_problems(spec: Node) -> Problems:
    """What bindings of all policies have in common."""
    if not spec["policyName"].text:
        yield spec["policyName"].required("")
    if spec["paramRef"].is_set:
        yield from _param_ref_problems(spec["paramRef"])
    yield from match_problems(spec["matchResources"])


def _action_problems(actions: Node) -> Problems:
    if not actions.list:
        yield actions.required("")
    for action in actions.items():
        yield from choice_problems(action, ACTIONS)
    if len(set(map(str, actions.list))) < len(actions.list):
        yield actions.duplicate("every action may be there once")
    if {"Deny", "Warn"} <= set(map(str, actions.list)):
        yield actions.invalid("must not contain both Deny and Warn (repeating the same validation failure information)")


def _param_ref_problems(reference: Node) -> Problems:
    if bool(reference["name"].text) == reference["selector"].is_set:
        yield reference["name"].required("exactly one of name or selector must be specified")
    action = reference["parameterNotFoundAction"]
    if action.is_set:
        yield from choice_problems(action, _NOT_FOUND)
    else:
        yield action.required("")


def match_problems(match: Node) -> Problems:
    yield from choice_problems(match["matchPolicy"], _MATCHES)
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match[field].items():
            yield from rule_problems(rule)


def choice_problems(choice: Node, choices: tuple[str, ...]) -> Problems:
    if choice.is_set and choice.text not in choices:
        yield choice.not_supported(*choices)
