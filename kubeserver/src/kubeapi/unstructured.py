"""Reading and writing inside manifests, which may hold anything: what is not of the expected type counts as absent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from kubeapi.meta import Manifest, ReadOnlyManifest


def mapping_at(manifest: object, *path: str) -> Mapping[str, Any]:
    """The mapping at the path; empty when there is none."""
    value = value_at(manifest, *path)
    return cast(Mapping[str, Any], value) if isinstance(value, (dict, Mapping)) else {}


def list_at(manifest: object, *path: str) -> Sequence[Any]:
    value = value_at(manifest, *path)
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def mappings_at(manifest: ReadOnlyManifest, *path: str) -> list[Manifest]:
    """The items of a list that are mappings; whoever writes others into one is not understood. Holds: S10."""
    return [cast(Manifest, item) for item in list_at(manifest, *path) if isinstance(item, dict)]


def text_at(manifest: object, *path: str) -> str:
    value = value_at(manifest, *path)
    return value if isinstance(value, str) else ""


def int_at(manifest: object, *path: str) -> int:
    value = value_at(manifest, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def value_at(manifest: Any, *path: str) -> Any:
    for key in path:
        if not isinstance(manifest, dict) and not isinstance(manifest, Mapping):
            return None
        manifest = manifest.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return manifest  # pyright: ignore[reportUnknownVariableType]


def put(manifest: Manifest, value: Any, *path: str) -> None:
    """Sets the value at the path, making the mappings on the way."""
    *parents, last = path
    for key in parents:
        child = manifest.get(key)
        if not isinstance(child, dict):
            child = manifest[key] = {}
        manifest = cast(Manifest, child)
    manifest[last] = value


def drop(manifest: Manifest, *path: str) -> None:
    """Removes the key at the path, if it is there."""
    *parents, last = path
    parent = value_at(manifest, *parents)
    if isinstance(parent, dict):
        cast(Manifest, parent).pop(last, None)


def with_annotations(manifest: ReadOnlyManifest, changes: Mapping[str, str | None]) -> Manifest:
    """The manifest with these annotations, without those that are None."""
    metadata = mapping_at(manifest, "metadata")
    annotations = {**mapping_at(metadata, "annotations"), **changes}
    kept = {key: value for key, value in annotations.items() if value is not None}
    return {**manifest, "metadata": {**metadata, "annotations": kept}}


def take(manifest: Manifest, observed: ReadOnlyManifest, *path: str) -> None:
    """Gives the key at the path the value that `observed` has there, if it says something."""
    value = value_at(observed, *path)
    if value not in (None, "", 0):
        put(manifest, value, *path)


def pick(source: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The named entries that say something."""
    return {name: source[name] for name in names if source.get(name) not in (None, 0, "", [], {})}
