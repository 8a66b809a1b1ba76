"""Resource models: how many nodes of each grade a cluster has free, by `spec.resourceModels`.

A node is of the highest grade that it reaches in every resource of the models, by what is free on it now; one that
reaches none, or has no room for another Pod, is of no grade. So a grade's lower bounds are what each of its nodes has.

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

Bounds = Mapping[str, Sequence[Decimal]]
"""Per resource the lower bound of each grade, in order of grade."""


def count_grades(
    models: Sequence[ResourceModel], nodes: Iterable[tuple[Amounts, Amounts]]
) -> tuple[AllocatableModeling, ...]:
    """`nodes` are what each offers and what of that is taken. Nothing for models that cannot be read."""
    ordered = sorted(models, key=lambda model: model.grade)
    bounds = _bounds(ordered)
    if bounds is None:
        return ()
    places = Counter(_place(bounds, offered, taken) for offered, taken in nodes)
    return tuple(AllocatableModeling(grade=model.grade, count=places[i]) for i, model in enumerate(ordered))


def _bounds(models: Sequence[ResourceModel]) -> Bounds | None:
    """None for none, and where the grades' bounds are not such that one can look a node up in them."""
    bounds: dict[str, list[Decimal]] = {}
    for model in models:
        for each in model.ranges:
            try:
                bounds.setdefault(each.name, []).append(parse_quantity(each.min))
            except (ValueError, ArithmeticError):
                return None
    usable = all(len(mins) == len(models) and mins == sorted(mins) for mins in bounds.values())
    return bounds if bounds and usable else None


def _place(bounds: Bounds, offered: Amounts, taken: Amounts) -> int:
    """The index of the node's grade, -1 for none."""
    if _free("pods", offered, taken) <= 0:
        return -1
    return min(bisect_right(mins, _free(name, offered, taken)) - 1 for name, mins in bounds.items())


def _free(name: str, offered: Amounts, taken: Amounts) -> Decimal:
    return offered.get(name, NOTHING).value - taken.get(name, NOTHING).value
