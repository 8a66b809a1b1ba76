"""Rules of a placement: affinities, tolerations, spread constraints and workload affinity.

Karmada: pkg/util/validation; same. It does not look into label selectors: an invalid one selects nothing.
"""

from collections import Counter
from collections.abc import Iterable

from kubeapi.field import Node, Problems
from leeward.api.rules.selectors import affinity_problems
from leeward.api.rules.texts import qualified_name_fault
from leeward.api.spread_field import GROUP_FIELDS, SPREAD_FIELDS, SpreadField

_AFFINITY_FIELDS = ("labelSelector", "fieldSelector", "clusterNames", "exclude")


def placement_problems(placement: Node) -> Problems:
    if placement["clusterAffinity"].is_set and placement["clusterAffinities"].list:
        yield placement.invalid("clusterAffinity and clusterAffinities must not both be set; keep one of them")
    yield from affinity_problems(placement["clusterAffinity"])
    yield from _affinities_problems(placement)
    yield from _toleration_problems(placement["clusterTolerations"])
    yield from _spread_problems(placement["spreadConstraints"])
    yield from _workload_affinity_problems(placement["workloadAffinity"])


def _affinities_problems(placement: Node) -> Problems:
    affinities = placement["clusterAffinities"]
    for term in affinities.items():
        name = term["affinityName"].text
        if fault := qualified_name_fault(name):
            yield term.invalid(f"affinityName {fault}", value=name)
        yield from affinity_problems(term)
        yield from _overflow_problems(term, placement["replicaScheduling"])
    if _repeated(term["affinityName"].text for term in affinities.items()):
        yield affinities.invalid("each affinity term must have a name of its own; rename one of them")


def _overflow_problems(term: Node, strategy: Node) -> Problems:
    overflow = term["overflowAffinities"]
    if not overflow.list:
        return
    if not any(term[field].value for field in _AFFINITY_FIELDS):
        yield overflow.invalid("must come with an affinity of its own term, which it extends when that one is full")
    if not _is_dynamic(strategy):
        yield overflow.invalid("must come with dynamic weights or Aggregated division, which know when it is full")
    seen = {term["affinityName"].text}
    for affinity in overflow.items():
        name = affinity["affinityName"]
        if fault := qualified_name_fault(name.text):
            yield name.invalid(fault)
        if name.text in seen:
            yield name.invalid("must differ from the names of its term and of the term's other overflow affinities")
        seen.add(name.text)
        yield from affinity_problems(affinity)


def _is_dynamic(strategy: Node) -> bool:
    if strategy["replicaSchedulingType"].text != "Divided":
        return False
    preference = strategy["replicaDivisionPreference"].text
    return preference == "Aggregated" or bool(strategy["weightPreference"]["dynamicWeight"].text)


def _toleration_problems(tolerations: Node) -> Problems:
    for toleration in tolerations.items():
        if toleration["operator"].text not in ("", "Exists", "Equal"):
            yield toleration["operator"].not_supported("", "Exists", "Equal")


def _spread_problems(constraints: Node) -> Problems:
    for constraint in constraints.items():
        minimum, maximum = constraint["minGroups"].number, constraint["maxGroups"].number
        if constraint["spreadByField"].text and constraint["spreadByLabel"].text:
            yield constraint.invalid("spreadByField and spreadByLabel must not both be set; use two constraints")
        if minimum < 0 or maximum < 0:
            yield constraint.invalid(f"{'minGroups' if minimum < 0 else 'maxGroups'} must be 0 or more")
        elif 0 < maximum < minimum:
            said = f"maxGroups ({maximum}) must not be lower than minGroups ({minimum}); use 0 for no upper limit"
            yield constraint.invalid(said)
        if constraint["spreadByField"].text not in ("", *SPREAD_FIELDS):
            yield constraint["spreadByField"].not_supported(*SPREAD_FIELDS)
    fields = [constraint["spreadByField"].text for constraint in constraints.items()]
    named = [field for field in fields if field in SPREAD_FIELDS]
    for field in _repeated(named):
        yield constraints.invalid(f"there must be only one constraint by {field}; merge them")
    if named and SpreadField.CLUSTER not in named:
        *some, last = GROUP_FIELDS
        fields_of_groups = f"{', '.join(some)} or {last}"
        yield constraints.invalid(f"spreading by {fields_of_groups} also needs a constraint by cluster; add one")


def _workload_affinity_problems(affinity: Node) -> Problems:
    for term in (affinity["affinity"], affinity["antiAffinity"]):
        key = term["groupByLabelKey"]
        if term.is_set and (fault := qualified_name_fault(key.text)):
            yield key.invalid(fault)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
