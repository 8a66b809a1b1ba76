"""Rules of ValidatingAdmissionPolicies and their bindings, beyond what they share with the policies that change.

Kubernetes: pkg/apis/admissionregistration; the same rules. Differs: expressions are compiled, but their types are not
checked against the schemas of the matched kinds: `status.typeChecking` stays empty.
"""

from kubeapi.field import Node, Problems
from kubeserver.kinds.policy_parts import VARIABLES, binding_problems, choice_problems, policy_problems, validating_spec
from kubeserver.kinds.webhook_configurations import expression_problems
from kubeserver.names import qualified_name

REASONS = ("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")


def _binding_problems(spec: Node) -> Problems:
    yield from binding_problems(spec)
    yield from _action_problems(spec["validationActions"])


def _policy_problems(spec: Node) -> Problems:
    yield from policy_problems(spec)
    if not (spec["validations"].list or spec["auditAnnotations"].list):
        for field in ("validations", "auditAnnotations"):
            yield spec[field].required("validations or auditAnnotations must be non-empty")
    for validation in spec["validations"].items():
        yield from _validation_problems(validation)
    yield from _annotation_problems(spec["auditAnnotations"])


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


def _action_problems(actions: Node) -> Problems:
    if not actions.list:
        yield actions.required("")
    for action in actions.items():
        yield from choice_problems(action, ACTIONS)
    if len(set(map(str, actions.list))) < len(actions.list):
        yield actions.duplicate("every action may be there once")
    if {"Deny", "Warn"} <= set(map(str, actions.list)):
        yield actions.invalid("must not contain both Deny and Warn (repeating the same validation failure information)")


validate_policy, validate_binding = validating_spec(_policy_problems), validating_spec(_binding_problems)
