"""Attributes that are found when they are first asked for, and kept.

As `functools.cached_property`, which until Python 3.12 takes a lock for that; requests are never shared by threads.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CachedProperty(Generic[T]):
    """Property that is found once, for classes whose instances have a `__dict__`."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    def __get__(self, owner: object, _: type | None = None) -> T:
        found = owner.__dict__[self._name] = self._find(owner)
        return found
