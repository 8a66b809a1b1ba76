"""The watches that clients have open, so that those of one resource can be ended together.

A custom kind that is defined anew is shown in another way: who watches it begins again, from where they were.

Kubernetes: a changed CustomResourceDefinition gets storage of its own, and the watches of the old one end.
"""

from weakref import WeakKeyDictionary

from kubeserver.store import Watcher


class OpenWatches:
    """Watchers by the prefix of their kind; one that nobody reads any more is forgotten by itself."""

    def __init__(self) -> None:
        self._watchers: dict[str, WeakKeyDictionary[Watcher, None]] = {}

    def add(self, prefix: str, watcher: Watcher) -> None:
        self._watchers.setdefault(prefix, WeakKeyDictionary())[watcher] = None

    def end(self, prefix: str) -> None:
        for watcher in list(self._watchers.pop(prefix, ())):
            watcher.close()
