"""Dependants: the bindings that need each object, as far as it is known since this process runs."""

from collections import defaultdict
from collections.abc import Collection

from controller_runtime import Key
from leeward.runtime.templates import TemplateKey

Kind = tuple[str, str, str]
"""API version, kind and namespace."""


class DependantIndex:
    """Index from dependants to the objects that they need, and back."""

    def __init__(self) -> None:
        self._objects: dict[Key, frozenset[TemplateKey]] = {}
        self._kinds: dict[Key, frozenset[Kind]] = {}
        self._dependants: defaultdict[TemplateKey | Kind, set[Key]] = defaultdict(set)

    def knows(self, dependant: Key) -> bool:
        """Tells whether it was found out what this one needs; that may be nothing."""
        return dependant in self._objects

    def objects_of(self, dependant: Key) -> Collection[TemplateKey]:
        return self._objects.get(dependant, frozenset())

    def dependants_of(self, needed: TemplateKey) -> Collection[Key]:
        return frozenset(self._dependants.get(needed, ()))

    def selecting(self, needed: TemplateKey) -> Collection[Key]:
        """The dependants that select by labels among the objects of its kind and namespace."""
        return frozenset(self._dependants.get((needed.api_version, needed.kind, needed.key.namespace), ()))

    def put(self, dependant: Key, objects: Collection[TemplateKey], kinds: Collection[Kind] = ()) -> None:
        """`kinds` are those of which it needs whatever its selectors find."""
        self.forget(dependant)
        self._objects[dependant], self._kinds[dependant] = frozenset(objects), frozenset(kinds)
        for needed in (*objects, *kinds):
            self._dependants[needed].add(dependant)

    def forget(self, dependant: Key) -> None:
        for needed in (*self._objects.pop(dependant, ()), *self._kinds.pop(dependant, ())):
            self._dependants[needed].discard(dependant)
            if not self._dependants[needed]:
                del self._dependants[needed]
