"""Handlers of changes of one kind: of all its objects, of those in one namespace, or of one object.

A change costs what its own handlers cost, however many there are of others: each of a thousand members follows its own
Works and its own Cluster.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from controller_runtime.identity import Key

log = logging.getLogger(__name__)

T = TypeVar("T")
ChangeHandler = Callable[[T | None, T | None], None]
"""Function of (old, new), None for an absence."""


class ChangeHandlers(Generic[T]):
    """Handlers by what they are for: `Key(namespace, "")` is a namespace, None everything. What one raises is logged
    and goes no further. `plural` is the kind's."""

    def __init__(self, plural: str) -> None:
        self._plural = plural
        self._found: dict[Key | None, list[ChangeHandler[T]]] = {}

    def add(self, handler: ChangeHandler[T], scope: Key | None, there: Iterable[T]) -> Callable[[], None]:
        """Tells it of what is `there` now. Returns a function that takes it away."""
        self._found.setdefault(scope, []).append(handler)
        for obj in there:
            self._call(handler, None, obj)

        def remove() -> None:
            self._found[scope].remove(handler)
            if not self._found[scope]:
                del self._found[scope]

        return remove

    def tell(self, key: Key, old: T | None, new: T | None) -> None:
        """Calls the handlers that a change of the object concerns, first those of everything."""
        scopes = (None, Key(key.namespace, ""), key) if key.namespace else (None, key)
        for handler in [handler for scope in scopes for handler in self._found.get(scope, ())]:
            self._call(handler, old, new)

    def _call(self, handler: ChangeHandler[T], old: T | None, new: T | None) -> None:
        try:
            handler(old, new)
        except Exception:
            log.exception("a handler of %s failed", self._plural)
