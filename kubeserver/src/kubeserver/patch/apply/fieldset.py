"""Sets of fields: paths into an object, as server-side apply owns them.

A path is a tuple of element names in their wire form: `f:name` for a field, `k:{"name":"a"}` for an element of a list
with keys, `v:"x"` for an element of a set.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from kubeapi import codec

Path = tuple[str, ...]
FieldSet = frozenset[Path]

EMPTY: FieldSet = frozenset()
_SELF = "."
MOST_REMEMBERED = 200
LONGEST_REMEMBERED = 8 * 1024
"""Sets of so many paths, and so many bytes of their wire form: most objects' owners write the same fields for ever."""


def render_fields(fields: FieldSet) -> dict[str, Any]:
    """The wire form `FieldsV1`: nested mappings, where `.` stands for the place itself if there is more below it."""
    if len(fields) > MOST_REMEMBERED:
        return _rendered(fields)
    return codec.decode_manifest(_remembered_text(fields))


def parse_fields(wire: Mapping[str, Any]) -> FieldSet:
    """Raises: ValueError."""
    text = codec.encode(wire)
    if len(text) > LONGEST_REMEMBERED:
        return frozenset(_paths(wire, ()))
    return _remembered_fields(text)


def _rendered(fields: FieldSet) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(fields):
        node, is_new = root, True
        for name in path:
            inner: dict[str, Any] | None = node.get(name)
            if inner is None:
                if not node and not is_new:
                    node[_SELF] = {}
                inner = node[name] = {}
                is_new = True
            else:
                is_new = False
            node = inner
    return root


@lru_cache(maxsize=1024)
def _remembered_text(fields: FieldSet) -> bytes:
    return codec.encode(_rendered(fields))


@lru_cache(maxsize=1024)
def _remembered_fields(text: bytes) -> FieldSet:
    return frozenset(_paths(codec.decode_manifest(text), ()))


def _paths(node: Mapping[str, Any], path: Path) -> Iterator[Path]:
    if path and (not node or _SELF in node):
        yield path
    for name, child in node.items():
        if name == _SELF:
            continue
        if name[:2] not in ("f:", "k:", "v:", "i:") or not isinstance(child, dict):
            raise ValueError(f"fieldsV1 has no place for {name!r}")
        yield from _paths(cast(Mapping[str, Any], child), (*path, name))


def below(fields: Iterable[Path], prefix: Path) -> FieldSet:
    """Fields at `prefix` or under it."""
    return frozenset(path for path in fields if path[: len(prefix)] == prefix)


def show_path(path: Path) -> str:
    """Path as messages name it: `.spec.containers[name="a"].image`."""
    return "".join(_show(name) for name in path)


def in_order(fields: Iterable[Path]) -> list[Path]:
    """Paths as conflicts are listed: what is higher up first, then by name."""
    return sorted(fields, key=_rank)


def _rank(path: Path) -> tuple[tuple[int, str], ...]:
    return (*((1, name) for name in path[:-1]), (0, path[-1]))


def _show(name: str) -> str:
    kind, text = name[:2], name[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "k:":
        keys = codec.decode(text.encode(), dict[str, Any])
        return "[" + ",".join(f"{key}={codec.encode(value).decode()}" for key, value in keys.items()) + "]"
    return f"[={text}]" if kind == "v:" else f"[{text}]"
