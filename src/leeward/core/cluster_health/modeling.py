"""Resource models: how many nodes of each grade a cluster has free, by `spec.resourceModels`.

A node is of the highest grade that its free resources reach in every resource of the models. One that reaches none, or
has no room for another Pod, is of no grade. So each node of a grade has at least its lower bounds.

Karmada: pkg/modeling, pkg/controllers/status (getAllocatableModelings); same, but that a node without room for a Pod
does not hide the nodes after it, and that nodes which are not usable are of no grade.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from kubeapi.quantity import parse_quantity
from leeward.api.cluster import AllocatableModeling, ResourceModel
from leeward.core.amounts import NOTHING, Amounts

PODS = "pods"
Bounds = Mapping[str, Sequence[Decimal]]
"""Lower bounds of the grades by resource, in order of grade."""


def count_grades(
    models: Sequence[ResourceModel], nodes: Iterable[tuple[Amounts, Amounts]]
) -> tuple[AllocatableModeling, ...]:
    """`nodes` are the offered and the taken resources of each. Nothing for models that cannot be read."""
    bounds = grade_bounds(models)
    if bounds is None:
        return ()
    return modelings(models, Counter(grade_index(bounds, _free(bounds, *node)) for node in nodes))


def modelings(models: Sequence[ResourceModel], counts: Mapping[int, int]) -> tuple[AllocatableModeling, ...]:
    """`counts` are the nodes by the index of their grade."""
    grades = sorted(model.grade for model in models)
    return tuple(AllocatableModeling(grade=grade, count=counts.get(i, 0)) for i, grade in enumerate(grades))


def grade_bounds(models: Sequence[ResourceModel]) -> Bounds | None:
    """None for none, and where the grades' bounds are not such that one can look a node up in them."""
    bounds: dict[str, list[Decimal]] = {}
    for model in sorted(models, key=lambda model: model.grade):
        for each in model.ranges:
            try:
                bounds.setdefault(each.name, []).append(parse_quantity(each.min))
            except (ValueError, ArithmeticError):
                return None
    usable = all(len(mins) == len(models) and mins == sorted(mins) for mins in bounds.values())
    return bounds if bounds and usable else None


def grade_index(bounds: Bounds, free: Mapping[str, Decimal]) -> int:
    """The index of the grade, in their order, of a node with so much free; -1 for none."""
    if free[PODS] <= 0:
        return -1
    return min(bisect_right(mins, free[name]) - 1 for name, mins in bounds.items())


def _free(bounds: Bounds, offered: Amounts, taken: Amounts) -> dict[str, Decimal]:
    names = (PODS, *bounds)
    return {name: offered.get(name, NOTHING).value - taken.get(name, NOTHING).value for name in names}
