"""A budget for what is kept of one server, over all kinds that are followed.

    reserve  before an object is kept; beyond the budget it is not
    exceed   notes, by kind, what is beyond a bound; `excess` says it as long as it lasts

What was kept before stays: that a list is too large to be read is not known to mean that anything in it is gone (S5).
"""

from dataclasses import dataclass, field

from kubeapi.errors import TooLarge
from kubeclient.bounds import MAX_CACHED_BYTES, MAX_CACHED_OBJECTS, MiB


@dataclass(slots=True)
class CacheBudget:
    max_bytes: int = MAX_CACHED_BYTES
    max_objects: int = MAX_CACHED_OBJECTS
    used_bytes: int = 0
    used_objects: int = 0
    _exceeded: dict[str, str] = field(default_factory=dict[str, str])

    def check(self, more_bytes: int, more_objects: int) -> None:
        """Raises: TooLarge when so much more is beyond the budget."""
        if self.used_objects + more_objects > self.max_objects:
            raise TooLarge(f"more than {self.max_objects} objects of all kinds that are followed")
        if self.used_bytes + more_bytes > self.max_bytes:
            raise TooLarge(f"more than {self.max_bytes // MiB} MiB of all kinds that are followed")

    def take(self, more_bytes: int, more_objects: int) -> None:
        """Takes without a question; negative numbers give back."""
        self.used_bytes += more_bytes
        self.used_objects += more_objects

    def exceed(self, kind: str, why: str) -> None:
        self._exceeded[kind] = why

    def recover(self, kind: str) -> None:
        self._exceeded.pop(kind, None)

    @property
    def excess(self) -> str:
        """Text that says which kinds are beyond a bound, and how; empty when none is."""
        return "; ".join(f"{kind}: {why}" for kind, why in sorted(self._exceeded.items()))
