"""Finds the objects of an informer by something else than their name."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from leeward.runtime.identity import Key, key_of
from leeward.runtime.informer import Informer

T = TypeVar("T")
V = TypeVar("V", bound=Hashable)


class Index(Generic[T, V]):
    """Follows `informer`; objects for which `value_of` gives None are left out."""

    def __init__(self, informer: Informer[T], value_of: Callable[[T], V | None]) -> None:
        self._value_of = value_of
        self._found: dict[V, dict[Key, T]] = {}
        informer.on_change(self._change)

    def get(self, value: V) -> list[T]:
        return list(self._found.get(value, {}).values())

    def _change(self, old: T | None, new: T | None) -> None:
        if old is not None:
            self._drop(old)
        if new is not None and (value := self._value_of(new)) is not None:
            self._found.setdefault(value, {})[key_of(new)] = new

    def _drop(self, old: T) -> None:
        value = self._value_of(old)
        if value is None or value not in self._found:
            return
        self._found[value].pop(key_of(old), None)
        if not self._found[value]:
            del self._found[value]
