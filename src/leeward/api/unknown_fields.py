"""Fields that a manifest of one of our kinds has and its schema has not: the API server drops them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from kubeapi.meta import ReadOnlyManifest
from leeward.api.schema import schema_of

_OF_ALL = ("apiVersion", "kind", "metadata", "status")


def unknown_fields(manifest: ReadOnlyManifest) -> Iterator[Sequence[str | int]]:
    """Paths of these fields; nothing is said of a kind that is not ours."""
    schema = schema_of(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")))
    return _unknown(manifest, schema, ()) if schema is not None else iter(())


def _unknown(value: object, schema: Mapping[str, Any], path: Sequence[str | int]) -> Iterator[Sequence[str | int]]:
    if isinstance(value, dict) and "properties" in schema:
        for name, member in cast(dict[str, object], value).items():
            known = schema["properties"].get(name)
            if known is not None:
                yield from _unknown(member, known, (*path, name))
            elif path or name not in _OF_ALL:
                yield (*path, name)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(cast(list[object], value)):
            yield from _unknown(item, schema["items"], (*path, index))
