"""Functions of Kubernetes' own, as they are told to the CEL library, and what they have in common.

A value of a type of theirs (a quantity, an address) is a map with the type's name as its only key, so that equal ones
are equal. Every function is bounded by the size of what it is given; the ones that raise ValueError have no result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
Typed = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Function:
    """`signature` names the types of the result and the parameters; the first parameter of a member is its owner.

    A result that is `typed` is a value of a type of Kubernetes' own: unlike other maps, it may be compared with null.
    """

    name: str
    signature: str
    run: Callable[..., Any]
    member: bool = True


def of(read: Callable[[Typed], T], answer: Callable[[T], object]) -> Callable[[Typed], object]:
    """A function of what a typed value stands for."""
    return lambda value: answer(read(value))


def of_both(read: Callable[[Typed], T], answer: Callable[[T, T], object]) -> Callable[[Typed, Typed], object]:
    """A function of what two typed values stand for."""
    return lambda one, other: answer(read(one), read(other))
