"""The versions that an object is seen in: what somebody owns is a set of fields of their own version.

A write in one version is compared in the version of each owner, so that a field which has another name there, or which
is not there at all, is theirs under the name that they know.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from kubeserver.patch.apply.typed import Difference, compare
from kubeserver.structures.structure import Structure


class Versions(Protocol):
    """All versions of one kind, by apiVersion."""

    def structure(self, api_version: str) -> Structure | None:
        """None for a version that does not exist, or not any more."""
        ...

    def convert(self, value: Any, source: str, target: str) -> Any:
        """`value`, a whole object of the version `source`, in the version `target`. Changes nothing in place."""
        ...


@dataclass(slots=True)
class Comparison:
    """Comparison of two states of an object, both written in the version `source`, in any version."""

    versions: Versions
    source: str
    old: Any
    new: Any
    _known: dict[str, Difference | None] = field(default_factory=dict[str, Difference | None])

    def at(self, api_version: str) -> Difference | None:
        """None for a version that does not exist any more."""
        if api_version not in self._known:
            self._known[api_version] = self._compare(api_version)
        return self._known[api_version]

    def _compare(self, api_version: str) -> Difference | None:
        structure = self.versions.structure(api_version)
        if structure is None:
            return None
        old, new = (self.versions.convert(value, self.source, api_version) for value in (self.old, self.new))
        return compare(structure, old, new)
