"""Defaults and rules that policies which judge and policies which change have in common, and so their bindings.

Kubernetes: pkg/apis/admissionregistration; the same rules.
"""

import re
from collections.abc import Callable
from typing import Any

from kubeapi.field import Node, Problems
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.kind import Validate
from kubeserver.kinds.webhook_configurations import condition_problems, expression_problems, rule_problems
from kubeserver.values import entries, grown

VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")
_FAILURE_POLICIES, _MATCHES, _NOT_FOUND = ("Fail", "Ignore"), ("Equivalent", "Exact"), ("Allow", "Deny")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def default_policy(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        _default_match(spec["matchConstraints"])


def default_binding(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    if "matchResources" in spec:
        _default_match(spec["matchResources"])


def _default_match(match: dict[str, Any]) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    grown(match, "namespaceSelector")
    grown(match, "objectSelector")
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in entries(match, field):
            rule.setdefault("scope", "*")


def validating_spec(problems_of: Callable[[Node], Problems]) -> Validate:
    """The `validate` of a kind whose rules are all about its spec."""

    def validate(manifest: Manifest, old: Manifest | None) -> list[Problem]:
        del old
        return list(problems_of(Node("spec", manifest.get("spec"))))

    return validate


def policy_problems(spec: Node) -> Problems:
    """Problems of everything in a policy but what it does with an object that it matches."""
    yield from choice_problems(spec["failurePolicy"], _FAILURE_POLICIES)
    yield from _param_kind_problems(spec["paramKind"])
    if not spec["matchConstraints"].is_set:
        yield spec["matchConstraints"].required("")
    elif not spec["matchConstraints"]["resourceRules"].list:
        yield spec["matchConstraints"]["resourceRules"].required("")
    yield from _match_problems(spec["matchConstraints"])
    yield from condition_problems(spec["matchConditions"], VARIABLES)
    yield from _variable_problems(spec["variables"])


def binding_problems(spec: Node) -> Problems:
    """Problems of what bindings of all policies have in common."""
    if not spec["policyName"].text:
        yield spec["policyName"].required("")
    if spec["paramRef"].is_set:
        yield from _param_ref_problems(spec["paramRef"])
    yield from _match_problems(spec["matchResources"])


def _param_kind_problems(kind: Node) -> Problems:
    if not kind.is_set:
        return
    if not kind["apiVersion"].text:
        yield kind["apiVersion"].required("")
    elif kind["apiVersion"].text.count("/") > 1:
        yield kind["apiVersion"].invalid("must be VERSION or GROUP/VERSION")
    if not kind["kind"].text:
        yield kind["kind"].required("")


def _variable_problems(variables: Node) -> Problems:
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


def _param_ref_problems(reference: Node) -> Problems:
    if bool(reference["name"].text) == reference["selector"].is_set:
        yield reference["name"].required("exactly one of name or selector must be specified")
    action = reference["parameterNotFoundAction"]
    if action.is_set:
        yield from choice_problems(action, _NOT_FOUND)
    else:
        yield action.required("")


def _match_problems(match: Node) -> Problems:
    yield from choice_problems(match["matchPolicy"], _MATCHES)
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match[field].items():
            yield from rule_problems(rule)


def choice_problems(choice: Node, choices: tuple[str, ...]) -> Problems:
    if choice.is_set and choice.text not in choices:
        yield choice.not_supported(*choices)
