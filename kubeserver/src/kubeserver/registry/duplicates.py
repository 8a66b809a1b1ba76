"""Fields that a JSON or YAML text has twice, which a decoder passes over in silence."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from kubeapi import codec
from kubeserver.serialization.yaml import read_json


class _Repeated(Exception):
    """Signal that there is at least one."""


class _Pairs(NamedTuple):
    pairs: list[tuple[str, Any]]


def duplicate_fields(body: bytes) -> list[str]:
    """Paths of fields that occur twice, each once. Holds: `body` is JSON."""
    if _says_all(body):
        return []
    try:
        _STRICT.decode(body.decode())
    except _Repeated:
        return list(dict.fromkeys(_walk(json.loads(body, object_pairs_hook=_Pairs), "")))
    except ValueError:
        return []
    return []


def _says_all(body: bytes) -> bool:
    """Tells whether it is what an encoder makes of it, who writes no field twice. So is most of what programs send."""
    try:
        return codec.encode(codec.decode_any(body)) == body
    except (codec.DecodeError, ValueError):
        return False


def duplicate_yaml_fields(body: bytes) -> list[str]:
    """Paths as `duplicate_fields` gives them, of the first document. Holds: `body` is YAML that was read before, within
    its limits."""
    if body[:1] == b"{" and read_json(body) is not None:
        return duplicate_fields(body)
    document = next(iter(yaml.compose_all(body, Loader=yaml.CSafeLoader)), None)
    return list(dict.fromkeys(_walk_nodes(document, "", set())))


def _walk_nodes(node: yaml.Node | None, path: str, visited: set[int]) -> Iterator[str]:
    """Paths of fields that occur twice, looking at each node once: what an alias refers to is told where it was
    written."""
    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, item in node.value:
            name = str(key.value)
            where = f"{path}.{name}" if path else name
            if name in seen:
                yield where
            seen.add(name)
            yield from _walk_nodes(item, where, visited)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk_nodes(item, f"{path}[{index}]", visited)


def _raise_if_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _Repeated


_STRICT = json.JSONDecoder(object_pairs_hook=_raise_if_repeated)


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value.pairs:
            where = f"{path}.{name}" if path else name
            if name in seen:
                yield where
            seen.add(name)
            yield from _walk(item, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _walk(item, f"{path}[{index}]")
