"""The versions of one kind: an object of one as an object of another, and how owners of fields see both.

A webhook that converts can only be waited for, and whoever compares fields does not wait: what is not known yet is
`Unknown`, and `settled` asks for it and begins anew.

Kubernetes: managedfields' version converter; the same: a custom object has only the fields of the version's schema.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.errors import internal_error
from kubeserver.kinds.kind import Conversion, Kind
from kubeserver.registry import objects
from kubeserver.structures.structure import Structure

MOST_ROUNDS = 64
"""Conversions that the fields of one object may take; each owner in another version needs a few."""

T = TypeVar("T")


class Unknown(Exception):
    """Request for a conversion: what `value` is in the version `target` has to be asked for first."""

    def __init__(self, conversion: Conversion, value: bytes, target: str) -> None:
        super().__init__(target)
        self.conversion, self.value, self.target = conversion, value, target


async def settled(work: Callable[[], T]) -> T:
    """Result of `work` once all is known; it begins anew each time, so it may not leave traces. Raises: Refused."""
    for _ in range(MOST_ROUNDS):
        try:
            return work()
        except Unknown as unknown:
            await unknown.conversion.convert([unknown.value], unknown.target)
    raise internal_error(f"comparing the fields of one object took more than {MOST_ROUNDS} conversions")


async def converted(kind: Kind, other: Kind, manifest: ReadOnlyManifest) -> Manifest:
    """An object of `kind` as `other`, which is the same stored object in another version or group. Raises: Refused."""
    if kind.conversion is None:
        return objects.converted(kind, other, manifest)
    made = await kind.conversion.convert([objects.encode_unstored(kind, manifest)], other.api_version)
    return codec.decode_manifest(made[0])


def stored_kind(kind: Kind) -> Kind:
    """The version that is stored; `kind` itself where that is another group's."""
    return kind.family.get(kind.stored_api_version, kind)


@dataclass(frozen=True, slots=True)
class KindVersions:
    """All versions of the objects of `kind`, served or not."""

    kind: Kind

    def structure(self, api_version: str) -> Structure | None:
        found = self._find(api_version)
        return found.structure if found is not None else None

    def convert(self, value: Any, source: str, target: str) -> Any:
        """Holds: both versions exist. A value without metadata is that of an object which is not there yet.

        Raises: Unknown.
        """
        this, other = self._find(source), self._find(target)
        assert this is not None, f"there is no {source}"
        assert other is not None, f"there is no {target}"
        if this is other or "metadata" not in value:
            return value
        shown = self._converted(this, other, value)
        if other.schema is not None:
            other.schema.prune(shown)
        return shown

    def _converted(self, this: Kind, other: Kind, value: Manifest) -> Manifest:
        if this.conversion is None:
            return objects.converted(this, other, codec.copy_manifest(value))
        body = objects.encode_unstored(this, value)
        known = this.conversion.known(body, other.api_version)
        if known is None:
            raise Unknown(this.conversion, body, other.api_version)
        return codec.decode_manifest(known)

    def _find(self, api_version: str) -> Kind | None:
        return self.kind if api_version == self.kind.api_version else self.kind.family.get(api_version)
