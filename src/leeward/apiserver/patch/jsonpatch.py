"""JSON patch (RFC 6902): a list of operations, all of which succeed or nothing is done.

Only the containers on the way to a change are copied. What `copy` may add is bounded, for copies of copies grow without
limit; so is the number of operations, by whoever reads the patch.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from leeward.api import codec

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

Edit = Callable[[Any, str], Any]
"""Gives a changed copy of a container; the text is the last token of the pointer."""


class Untrue(ValueError):
    """An operation `test` found another value than it expects."""


def apply(target: Any, operations: Any) -> Any:
    """`target` after all operations. Raises: ValueError that names the operation that failed; Untrue for a `test`."""
    if not isinstance(operations, list):
        raise ValueError("a JSON patch is a list of operations")
    items = cast(list[Any], operations)
    copied = 0
    for index, item in enumerate(items):
        try:
            operation = _Operation(item)
            copied += operation.copied_bytes(target)
            if copied > MAX_COPIED_BYTES:
                raise ValueError(f"copies more than {MAX_COPIED_BYTES} bytes")
            target = operation.run(target)
        except (ValueError, RecursionError) as error:
            kind = Untrue if isinstance(error, Untrue) else ValueError
            raise kind(f"operation {index}{_title(item)}: {error}") from error
    return target


class _Operation:
    """One checked entry of the list."""

    def __init__(self, item: Any) -> None:
        if not isinstance(item, dict):
            raise ValueError("is not an object")
        self._item = cast(dict[str, Any], item)
        self._run = _RUNS.get(self._text("op"))
        if self._run is None:
            raise ValueError(f"unknown op; known are {', '.join(_RUNS)}")
        self.path = parse_pointer(self._text("path"))

    @property
    def source(self) -> list[str]:
        return parse_pointer(self._text("from"))

    @property
    def value(self) -> Any:
        """Null where none is given, as kube-apiserver reads it; RFC 6902 would have it refused."""
        return self._item.get("value")

    def run(self, target: Any) -> Any:
        assert self._run is not None
        return self._run(target, self)

    def copied_bytes(self, target: Any) -> int:
        return len(codec.encode(_field(target, self.source))) if self._item["op"] == "copy" else 0

    def _text(self, field: str) -> str:
        value = self._item.get(field)
        if not isinstance(value, str):
            raise ValueError(f"has no {field}" if value is None else f"{field} is not a string")
        return value


def parse_pointer(text: str) -> list[str]:
    """The tokens of an RFC 6901 pointer. Raises: ValueError."""
    if text and not text.startswith("/"):
        raise ValueError(f"the pointer {text!r} does not begin with /")
    tokens = text.split("/")[1:]
    for token in tokens:
        if "~" in token.replace("~0", "").replace("~1", ""):
            raise ValueError(f"the pointer {text!r} has a ~ that is neither ~0 nor ~1")
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def find(target: Any, path: list[str]) -> Any:
    """What is at `path`. Raises: ValueError when nothing is."""
    for depth, token in enumerate(path):
        try:
            target = _child(target, token)
        except ValueError as error:
            raise ValueError(f"{_pointer(path[: depth + 1])} {error}") from None
    return target


def _field(target: Any, path: list[str]) -> Any:
    """What is at `path`; null for a field that its object does not have, as in kube-apiserver. Raises: ValueError."""
    holder = find(target, path[:-1]) if path else None
    if isinstance(holder, dict):
        return cast(dict[str, Any], holder).get(path[-1])
    return find(target, path)


def is_equal(one: Any, other: Any) -> bool:
    """Equality of JSON values: numbers by value, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast(dict[str, Any], one), cast(dict[str, Any], other)
        return left.keys() == right.keys() and all(is_equal(value, right[key]) for key, value in left.items())
    if isinstance(one, list) and isinstance(other, list):
        ours, theirs = cast(list[Any], one), cast(list[Any], other)
        return len(ours) == len(theirs) and all(map(is_equal, ours, theirs))
    return one == other


def _edit(target: Any, path: list[str], edit: Edit) -> Any:
    """A copy of `target` in which the container that `path` ends in is edited."""
    containers = [target]
    for depth in range(len(path) - 1):
        containers.append(find(containers[-1], path[depth : depth + 1]))
    changed = edit(containers.pop(), path[-1])
    for token in reversed(path[:-1]):
        changed = _replaced(containers.pop(), token, changed)
    return changed


def _add(target: Any, operation: _Operation) -> Any:
    return _put(target, operation.path, operation.value)


def _put(target: Any, path: list[str], value: Any) -> Any:
    return _edit(target, path, lambda container, token: _inserted(container, token, value)) if path else value


def _remove(target: Any, operation: _Operation) -> Any:
    return _take_out(target, operation.path)


def _take_out(target: Any, path: list[str]) -> Any:
    if not path:
        raise ValueError("the whole document cannot be removed")
    find(target, path)
    return _edit(target, path, _without)


def _replace(target: Any, operation: _Operation) -> Any:
    """A field that is not there is added, as kube-apiserver does; RFC 6902 would have it refused."""
    find(target, operation.path[:-1])
    value = operation.value
    return _edit(target, operation.path, lambda c, token: _replaced(c, token, value)) if operation.path else value


def _move(target: Any, operation: _Operation) -> Any:
    source = operation.source
    if source != operation.path and operation.path[: len(source)] == source:
        raise ValueError("a value cannot be moved into itself")
    return _put(_take_out(target, source), operation.path, find(target, source))


def _copy(target: Any, operation: _Operation) -> Any:
    return _put(target, operation.path, _field(target, operation.source))


def _test(target: Any, operation: _Operation) -> Any:
    if not is_equal(_field(target, operation.path), operation.value):
        raise Untrue("the value is another one")
    return target


_RUNS: Mapping[str, Callable[[Any, _Operation], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _child(container: Any, token: str) -> Any:
    match container:
        case dict():
            mapping = cast(dict[str, Any], container)
            if token not in mapping:
                raise ValueError("does not exist")
            return mapping[token]
        case list():
            items = cast(list[Any], container)
            return items[_index(token, len(items) - 1)]
        case _:
            raise ValueError("does not exist: its parent is neither an object nor a list")


def _inserted(container: Any, token: str, value: Any) -> Any:
    if isinstance(container, list):
        items = cast(list[Any], container)
        index = len(items) if token == "-" else _index(token, len(items))
        return [*items[:index], value, *items[index:]]
    if isinstance(container, dict):
        return {**cast(dict[str, Any], container), token: value}
    raise ValueError("the parent of the path is neither an object nor a list")


def _replaced(container: Any, token: str, value: Any) -> Any:
    if isinstance(container, list):
        items = list(cast(list[Any], container))
        items[_index(token, len(items) - 1)] = value
        return items
    return {**container, token: value}


def _without(container: Any, token: str) -> Any:
    if isinstance(container, list):
        items = list(cast(list[Any], container))
        del items[_index(token, len(items) - 1)]
        return items
    return {key: value for key, value in container.items() if key != token}


def _index(token: str, last: int) -> int:
    if not (token.isascii() and token.isdigit()) or (token[0] == "0" and token != "0"):
        raise ValueError(f"is no index of a list: {token!r}")
    if len(token) > 9 or int(token) > last:
        raise ValueError(f"is behind the end of the list: {token}")
    return int(token)


def _pointer(path: list[str]) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path)


def _title(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    fields = cast(dict[str, Any], item)
    return f" ({fields.get('op')} {fields.get('path')})"
