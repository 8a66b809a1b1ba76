"""Rules of OverridePolicy and ClusterOverridePolicy. Karmada: pkg/util/validation, pkg/webhook/overridepolicy."""

from collections.abc import Iterable

from kubeapi.field import Node, Problems
from leeward.api.rules.bounds import overrider_count_problems
from leeward.api.rules.selectors import affinity_problems, selector_namespace_problems
from leeward.api.rules.texts import json_pointer_fault, label_value_fault, qualified_name_fault

RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC_WAY_OUT = "rights are overridden by a ClusterOverridePolicy; narrow the resourceSelectors to other kinds"


def override_policy_problems(policy: Node, old: Node | None) -> Problems:
    spec, namespace = policy["spec"], policy["metadata"]["namespace"].text
    yield from overrider_count_problems(policy, old)
    if namespace:
        yield from selector_namespace_problems(spec["resourceSelectors"], namespace)
        yield from _rights_problems(spec["resourceSelectors"])
    if spec["overrideRules"].is_set:
        yield from _older_form_problems(spec)
    yield from affinity_problems(spec["targetCluster"])
    for rule in spec["overrideRules"].items():
        yield from affinity_problems(rule["targetCluster"])
        yield from _overriders_problems(rule["overriders"])


def _rights_problems(selectors: Node) -> Problems:
    for selector in selectors.items():
        if selector["apiVersion"].text.partition("/")[0] == RBAC_GROUP:
            yield selector["apiVersion"].invalid(RBAC_WAY_OUT)


def _older_form_problems(spec: Node) -> Problems:
    """A lone fieldOverrider passes, as it does in Karmada."""
    target, overriders = spec["targetCluster"], spec["overriders"]
    if target.is_set:
        yield target.invalid("must not be set together with overrideRules; move it into a rule")
    if any(value for name, value in overriders.mapping.items() if name != "fieldOverrider"):
        yield overriders.invalid("must not be set together with overrideRules; move it into a rule")


def _overriders_problems(overriders: Node) -> Problems:
    for overrider in overriders["imageOverrider"].items():
        path = overrider["predicate"]["path"]
        if fault := json_pointer_fault(path.text):
            yield path.invalid(fault)
    for overrider in overriders["labelsOverrider"].items():
        yield from _keys_problems(overrider["value"], overrider["value"].mapping)
        yield from _values_problems(overrider["value"])
    for overrider in overriders["annotationsOverrider"].items():
        yield from _keys_problems(overrider["value"], map(str.lower, overrider["value"].mapping))
    for overrider in overriders["fieldOverrider"].items():
        yield from _field_overrider_problems(overrider)


def _keys_problems(pairs: Node, keys: Iterable[str]) -> Problems:
    for key in keys:
        if fault := qualified_name_fault(key):
            yield pairs.invalid(f"the key {fault}", value=key)


def _values_problems(pairs: Node) -> Problems:
    for _, value in pairs.entries():
        if fault := label_value_fault(value.text):
            yield pairs.invalid(f"the value {fault}", value=value.text)


def _field_overrider_problems(overrider: Node) -> Problems:
    if fault := json_pointer_fault(overrider["fieldPath"].text):
        yield overrider["fieldPath"].invalid(fault)
    if overrider["json"].list and overrider["yaml"].list:
        yield overrider.invalid("json and yaml must not both be set: a field holds one document")
    elif not overrider["json"].list and not overrider["yaml"].list:
        yield overrider.required("set json or yaml, by the kind of document that the field holds")
    for operation in (*overrider["json"].items(), *overrider["yaml"].items()):
        yield from _operation_problems(operation)


def _operation_problems(operation: Node) -> Problems:
    path, value = operation["subPath"], operation["value"]
    if fault := json_pointer_fault(path.text):
        yield path.invalid(fault)
    if operation["operator"].text == "remove" and value.is_set:
        yield value.invalid("must not be set when the operator is remove")
    elif operation["operator"].text in ("add", "replace") and not value.is_set:
        yield value.invalid("must be set when the operator is add or replace")
