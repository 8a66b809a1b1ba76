"""Rules of MutatingAdmissionPolicies and their bindings, beyond what they share with the policies that judge.

Kubernetes: pkg/apis/admissionregistration; the same rules. Differs: what an expression makes is looked at when it is
evaluated.
"""

from kubeapi.field import Node, Problems
from kubeapi.status import Problem
from kubeserver.cel.objects import with_maps
from kubeserver.kinds.policy_parts import VARIABLES, binding_problems, choice_problems, policy_problems, validating_spec
from kubeserver.kinds.webhook_configurations import expression_problems

_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_FIELDS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def _binding_problems(spec: Node) -> Problems:
    yield from binding_problems(spec)
    yield from _operation_problems(spec["matchResources"])


def _policy_problems(spec: Node) -> Problems:
    yield from policy_problems(spec)
    yield from _operation_problems(spec["matchConstraints"])
    if not spec["mutations"].list:
        yield spec["mutations"].required("mutations must contain at least one item")
    for mutation in spec["mutations"].items():
        yield from _mutation_problems(mutation)
    if not spec["reinvocationPolicy"].text:
        yield spec["reinvocationPolicy"].required("")
    else:
        yield from choice_problems(spec["reinvocationPolicy"], ("IfNeeded", "Never"))


def _operation_problems(match: Node) -> Problems:
    """Problems of rules that name DELETE: what is deleted cannot be changed."""
    for rule in match["resourceRules"].items():
        if "DELETE" in rule["operations"].list:
            where = f"{match.path}.resourceRules.operations"
            yield Problem.not_supported(where, "DELETE", _OPERATIONS)


def _mutation_problems(mutation: Node) -> Problems:
    patch_type = mutation["patchType"]
    if not patch_type.text:
        yield patch_type.required("")
    elif patch_type.text not in _FIELDS:
        yield patch_type.not_supported(*_FIELDS)
    for known, field in _FIELDS.items():
        when = f"be specified when patchType is {patch_type.text}"
        if patch_type.text == known and not mutation[field].is_set:
            yield mutation[field].required(f"must {when}")
        elif patch_type.text in _FIELDS and patch_type.text != known and mutation[field].is_set:
            yield mutation[field].invalid(f"must not {when}", f"{{{field}}}")
        if mutation[field].is_set:
            expression = mutation[field]["expression"]
            yield from expression_problems(Node(expression.path, with_maps(expression.text)), VARIABLES)


validate_policy, validate_binding = validating_spec(_policy_problems), validating_spec(_binding_problems)
