"""Objects as bytes: how they lie in the store, and how they leave it without being decoded.

A stored value begins with its kind and apiVersion, then the metadata: so that another version, or a list item without
both, is the same bytes with another beginning.
"""

from typing import Any, cast

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.kinds.kind import Kind
from kubeserver.values import section

_METADATA = b'"metadata":'


def encode_stored(kind: Kind, manifest: Manifest, revision: int) -> bytes:
    """The value to store at `revision`."""
    if kind.view is not None:
        manifest = codec.copy_manifest(manifest)
        kind.view.store(manifest)
    metadata = {**manifest["metadata"], "resourceVersion": str(revision)}
    rest = {key: value for key, value in manifest.items() if key not in ("kind", "apiVersion", "metadata")}
    return codec.encode({"kind": kind.kind, "apiVersion": kind.stored_api_version, "metadata": metadata, **rest})


def encode_unstored(kind: Kind, manifest: ReadOnlyManifest) -> bytes:
    """Text of what was not stored (a dry run, a last state), in the same form."""
    rest = {key: value for key, value in manifest.items() if key not in ("kind", "apiVersion", "metadata")}
    start = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": manifest["metadata"]}
    return codec.encode({**start, **rest})


def restamped(value: bytes, revision: int) -> bytes:
    """The stored object as it is, at another revision."""
    manifest = codec.decode_manifest(value)
    manifest["metadata"]["resourceVersion"] = str(revision)
    return codec.encode(manifest)


def decode_stored(kind: Kind, value: bytes) -> Manifest:
    """The stored object in the version of `kind`."""
    manifest = codec.decode_manifest(value)
    manifest["apiVersion"] = kind.api_version
    if kind.view is not None:
        kind.view.show(manifest)
    return manifest


def converted(kind: Kind, other: Kind, manifest: ReadOnlyManifest) -> Manifest:
    """An object of `kind` as `other`, the same stored object in another version or group, where no webhook says how."""
    shown = decode_stored(other, encode_stored(kind, cast(Manifest, manifest), 0))
    shown["metadata"].pop("resourceVersion")
    version = manifest["metadata"].get("resourceVersion")
    return {**shown, "metadata": {**shown["metadata"], **({"resourceVersion": version} if version else {})}}


def body_of(kind: Kind, value: bytes) -> bytes:
    """The stored object in the version of `kind`, as JSON."""
    if kind.view is not None:
        return codec.encode(decode_stored(kind, value))
    start = f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",'.encode()
    return value if value.startswith(start) else start + _after_type(value)


def item_of(kind: Kind, value: bytes) -> bytes:
    """The stored object as an element of a list: built-in kinds leave out what the list says already."""
    return body_of(kind, value) if kind.custom else b"{" + _after_type(body_of(kind, value))


def metadata_of(manifest: Manifest) -> dict[str, Any]:
    return section(manifest, "metadata")


def _after_type(value: bytes) -> bytes:
    return value[value.index(_METADATA) :]
