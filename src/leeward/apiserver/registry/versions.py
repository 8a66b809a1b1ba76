"""The versions of one kind, as the owners of fields see its objects.

Kubernetes: managedfields' version converter; the same: a custom object has only the fields of the version's schema.
"""

from dataclasses import dataclass
from typing import Any

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.registry.objects import converted
from leeward.apiserver.structure import Structure


@dataclass(frozen=True, slots=True)
class KindVersions:
    """All versions of the objects of `kind`, served or not."""

    kind: Kind

    def structure(self, api_version: str) -> Structure | None:
        found = self._find(api_version)
        return found.structure if found is not None else None

    def convert(self, value: Any, source: str, target: str) -> Any:
        """Holds: both versions exist. A value without metadata is that of an object which is not there yet."""
        this, other = self._find(source), self._find(target)
        assert this is not None, f"there is no {source}"
        assert other is not None, f"there is no {target}"
        if this is other or "metadata" not in value:
            return value
        shown: Manifest = converted(this, other, codec.copy_manifest(value))
        if other.schema is not None:
            other.schema.prune(shown)
        return shown

    def _find(self, api_version: str) -> Kind | None:
        return self.kind if api_version == self.kind.api_version else self.kind.family.get(api_version)
