"""Finds the objects of an informer by something else than their name."""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeVar

from controller_runtime.identity import Key, kept, key_of
from controller_runtime.informer import Informer

T = TypeVar("T")
V = TypeVar("V", bound=Hashable)

FEW = 8


class Index(Generic[T, V]):
    """Follows `informer`, and holds keys; objects for which `value_of` gives None are left out."""

    def __init__(self, informer: Informer[T], value_of: Callable[[T], V | None]) -> None:
        self._informer = informer
        self._value_of = value_of
        self._found: dict[V, tuple[Key, ...] | dict[Key, None]] = {}
        """Keys by value: a tuple while they are few."""
        informer.on_change(self._change)

    def keys(self, value: V) -> Collection[Key]:
        return self._found.get(value, ())

    def get(self, value: V) -> list[T]:
        found = [self._informer.get(key.name, key.namespace) for key in self.keys(value)]
        return [each for each in found if each is not None]

    def _change(self, old: T | None, new: T | None) -> None:
        before = None if old is None else self._value_of(old)
        after = None if new is None else self._value_of(new)
        if before == after:
            return
        if old is not None and before is not None:
            self._drop(before, key_of(old))
        if new is not None and after is not None:
            self._add(after, kept(key_of(new)))

    def _add(self, value: V, key: Key) -> None:
        found = self._found.get(value, ())
        if isinstance(found, tuple) and len(found) < FEW:
            self._found[value] = found if key in found else (*found, key)
            return
        if isinstance(found, tuple):
            found = self._found[value] = dict.fromkeys(found)
        found[key] = None

    def _drop(self, value: V, key: Key) -> None:
        found = self._found.get(value, ())
        if isinstance(found, tuple):
            left: tuple[Key, ...] | dict[Key, None] = tuple(each for each in found if each != key)
        else:
            found.pop(key, None)
            left = found
        if left:
            self._found[value] = left
        else:
            self._found.pop(value, None)


class IndexOfMany(Generic[T, V]):
    """Index as `Index`, of objects that are found by each of several values."""

    def __init__(self, informer: Informer[T], values_of: Callable[[T], Iterable[V]]) -> None:
        self._informer = informer
        self._values_of = values_of
        self._found: dict[V, dict[Key, None]] = {}
        informer.on_change(self._change)

    def keys(self, value: V) -> Collection[Key]:
        return self._found.get(value, ())

    def get(self, value: V) -> list[T]:
        found = [self._informer.get(key.name, key.namespace) for key in self.keys(value)]
        return [each for each in found if each is not None]

    def _change(self, old: T | None, new: T | None) -> None:
        before = set[V]() if old is None else set(self._values_of(old))
        after = set[V]() if new is None else set(self._values_of(new))
        for value in before - after if old is not None else ():
            del self._found[value][key_of(old)]
            if not self._found[value]:
                del self._found[value]
        for value in after - before if new is not None else ():
            self._found.setdefault(value, {})[kept(key_of(new))] = None
