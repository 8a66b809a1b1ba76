"""JSON patch (RFC 6902): a list of operations, all of which succeed or nothing is done.

What `copy` may add is bounded, for copies of copies grow without limit; so is the number of operations, by whoever
reads the patch.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.json_document import Document, parse_path

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024


class Untrue(ValueError):
    """An operation `test` found another value than it expects."""


def apply(target: Any, operations: Any) -> Any:
    """`target` after all operations. Raises: ValueError that names the operation that failed; Untrue for a `test`."""
    if not isinstance(operations, list):
        raise ValueError("a JSON patch is a list of operations")
    run = _Run(target)
    for index, item in enumerate(cast(list[Any], operations)):
        try:
            run.carry_out(_Operation(item))
        except (ValueError, RecursionError) as error:
            kind = Untrue if isinstance(error, Untrue) else ValueError
            raise kind(f"operation {index}{_title(item)}: {error}") from error
    return run.document.root


class _Operation:
    """One checked entry of the list."""

    def __init__(self, item: Any) -> None:
        if not isinstance(item, dict):
            raise ValueError("is not an object")
        self._item = cast(dict[str, Any], item)
        self.op = self._text("op")
        if self.op not in _RUNS:
            raise ValueError(f"unknown op; known are {', '.join(_RUNS)}")
        self.path = parse_path(self._text("path"))

    @property
    def source(self) -> list[str]:
        return parse_path(self._text("from"))

    @property
    def value(self) -> Any:
        """Null where none is given, as kube-apiserver reads it; RFC 6902 would have it refused."""
        return self._item.get("value")

    def _text(self, field: str) -> str:
        value = self._item.get(field)
        if not isinstance(value, str):
            raise ValueError(f"has no {field}" if value is None else f"{field} is not a string")
        return value


class _Run:
    """The operations on one document, one after the other."""

    def __init__(self, target: Any) -> None:
        self.document = Document(target)
        self._copied_bytes = 0

    def carry_out(self, operation: _Operation) -> None:
        _RUNS[operation.op](self, operation)

    def add(self, operation: _Operation) -> None:
        self.document.insert(operation.path, operation.value)

    def remove(self, operation: _Operation) -> None:
        self.document.remove(operation.path)

    def replace(self, operation: _Operation) -> None:
        self.document.replace(operation.path, operation.value)

    def move(self, operation: _Operation) -> None:
        source = operation.source
        if source != operation.path and operation.path[: len(source)] == source:
            raise ValueError("a value cannot be moved into itself")
        self.document.insert(operation.path, self.document.remove(source))

    def copy(self, operation: _Operation) -> None:
        copied = codec.encode(self.document.field(operation.source))
        self._copied_bytes += len(copied)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise ValueError(f"copies more than {MAX_COPIED_BYTES} bytes")
        self.document.insert(operation.path, codec.decode_any(copied))

    def test(self, operation: _Operation) -> None:
        if not is_equal(self.document.field(operation.path), operation.value):
            raise Untrue("the value is another one")


_RUNS: Mapping[str, Callable[[_Run, _Operation], None]] = {
    "add": _Run.add,
    "remove": _Run.remove,
    "replace": _Run.replace,
    "move": _Run.move,
    "copy": _Run.copy,
    "test": _Run.test,
}


def _title(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    fields = cast(dict[str, Any], item)
    return f" ({fields.get('op')} {fields.get('path')})"
