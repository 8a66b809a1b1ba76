"""Rules of the nodes on which a Pod may run: tolerations, affinities, spread."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.status import Problem
from kubeserver.kinds.label_selectors import label_problems, selector_problems
from kubeserver.kinds.pod_rules.texts import duplicate, named, one_of
from kubeserver.names import dns_label, dns_subdomain, label_value, qualified_name
from kubeserver.values import entries, section

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WHEN = ("DoNotSchedule", "ScheduleAnyway")
_NO_OPERATOR = "not a valid selector operator"


def affinity_problems(affinity: Mapping[str, Any], path: str) -> Iterator[Problem]:
    nodes = section(affinity, "nodeAffinity")
    where = f"{path}.nodeAffinity"
    if _REQUIRED in nodes:
        yield from _terms_problems(nodes[_REQUIRED], f"{where}.{_REQUIRED}.nodeSelectorTerms")
    for index, preferred in enumerate(entries(nodes, _PREFERRED)):
        at = f"{where}.{_PREFERRED}[{index}]"
        yield from _weight_problems(preferred, at)
        yield from _term_problems(section(preferred, "preference"), f"{at}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pods_problems(section(affinity, kind), f"{path}.{kind}")


def _pods_problems(affinity: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, term in enumerate(entries(affinity, _REQUIRED)):
        yield from _pod_term_problems(term, f"{path}.{_REQUIRED}[{index}]")
    for index, preferred in enumerate(entries(affinity, _PREFERRED)):
        at = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight_problems(preferred, at)
        yield from _pod_term_problems(section(preferred, "podAffinityTerm"), f"{at}.podAffinityTerm")


def _weight_problems(preferred: Mapping[str, Any], path: str) -> Iterator[Problem]:
    weight = preferred.get("weight", 0)
    if not 1 <= weight <= 100:
        yield Problem.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _pod_term_problems(term: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for field in ("labelSelector", "namespaceSelector"):
        yield from selector_problems(section(term, field), f"{path}.{field}")
    for name in term.get("namespaces") or ():
        yield from named(dns_label, name, f"{path}.namespace")
    key = term.get("topologyKey", "")
    if not key:
        yield Problem.required(f"{path}.topologyKey", "can not be empty")
    yield from named(qualified_name, key, f"{path}.topologyKey")


def _terms_problems(required: Mapping[str, Any], path: str) -> Iterator[Problem]:
    terms = entries(required, "nodeSelectorTerms")
    if not terms:
        yield Problem.required(path, "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _term_problems(term, f"{path}[{index}]")


def _term_problems(term: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, requirement in enumerate(entries(term, "matchExpressions")):
        yield from _requirement_problems(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(entries(term, "matchFields")):
        yield from _field_problems(requirement, f"{path}.matchFields[{index}]")


def _requirement_problems(requirement: Mapping[str, Any], path: str) -> Iterator[Problem]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield Problem.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield Problem.forbidden(f"{path}.values", said)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield Problem.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield Problem.invalid(f"{path}.operator", operator, _NO_OPERATOR)
    yield from named(qualified_name, requirement.get("key", ""), f"{path}.key")
    for index, value in enumerate(values):
        yield from named(label_value, value, f"{path}.values[{index}]")


def _field_problems(requirement: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """A node is chosen by its name."""
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield Problem.invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        said = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield Problem.required(f"{path}.values", said)
    if requirement.get("key") != "metadata.name":
        yield Problem.invalid(f"{path}.key", requirement.get("key", ""), "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            yield from named(dns_subdomain, value, f"{path}.values[{index}]")


def toleration_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, toleration in enumerate(entries(spec, "tolerations")):
        where = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        yield from named(qualified_name, key, f"{where}.key") if key else ()
        if not key and operator != "Exists":
            said = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield Problem.invalid(f"{where}.operator", operator, said)
        effect = toleration.get("effect", "")
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            said = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield Problem.invalid(f"{where}.effect", effect, said)
        yield from _operator_problems(operator, toleration.get("value", ""), f"{where}.operator")
        yield from one_of(effect, _EFFECTS, f"{where}.effect") if effect else ()


def _operator_problems(operator: str, value: str, path: str) -> Iterator[Problem]:
    if operator in ("Equal", ""):
        said = label_value(value)
        if said:
            yield Problem.invalid(path, value, ";".join(said))
    elif operator != "Exists":
        yield Problem.not_supported(path, operator, ("Equal", "Exists"))
    elif value:
        yield Problem.invalid(path, value, "value must be empty when `operator` is 'Exists'")


def spread_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(entries(spec, "topologySpreadConstraints")):
        where = f"{path}[{index}]"
        skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey", "")
        if skew <= 0:
            yield Problem.invalid(f"{where}.maxSkew", skew, "must be greater than zero")
        if not key:
            yield Problem.required(f"{where}.topologyKey", "can not be empty")
        yield from named(qualified_name, key, f"{where}.topologyKey") if key else ()
        when = constraint.get("whenUnsatisfiable", "")
        yield from one_of(when, _WHEN, f"{where}.whenUnsatisfiable")
        if (key, when) in seen:
            yield duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
        seen.add((key, when))
        if constraint.get("minDomains", 1) <= 0:
            yield Problem.invalid(f"{where}.minDomains", constraint["minDomains"], "must be greater than 0")
        yield from selector_problems(section(constraint, "labelSelector"), f"{where}.labelSelector")


def node_selector_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from label_problems(section(spec, "nodeSelector"), path)
