"""A value inside a manifest together with its path, so that a rule can say where its problem is."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, cast

import msgspec

from kubeapi.meta import Manifest
from kubeapi.quantity import parse_quantity
from kubeapi.status import Problem


class Node(msgspec.Struct, frozen=True):
    path: str
    value: Any

    def __getitem__(self, name: str) -> "Node":
        """The member `name`; one with the value None where there is none."""
        return Node(f"{self.path}.{name}" if self.path else name, self.mapping.get(name))

    def items(self) -> Iterator["Node"]:
        """The members of a list."""
        for index, item in enumerate(self.list):
            yield Node(f"{self.path}[{index}]", item)

    def entries(self) -> Iterator[tuple[str, "Node"]]:
        """The members of a mapping whose keys are data: `path[key]`."""
        for key, value in self.mapping.items():
            yield key, Node(f"{self.path}[{key}]", value)

    @property
    def is_set(self) -> bool:
        return self.value is not None

    @property
    def mapping(self) -> Manifest:
        value = self.value
        return cast(Manifest, value) if isinstance(value, dict) else {}

    @property
    def list(self) -> list[Any]:
        value = self.value
        return cast("list[Any]", value) if isinstance(value, list) else []

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @property
    def number(self) -> int:
        return self.value if isinstance(self.value, int) else 0

    @property
    def quantity(self) -> Decimal | None:
        """The amount; None where the text is no quantity."""
        try:
            return parse_quantity(self.value)
        except ValueError:
            return None

    def invalid(self, message: str, value: object = None) -> Problem:
        """`value` is shown in place of the node's own, where that would be too long to read."""
        return Problem.invalid(self.path, self.value if value is None else value, message)

    def required(self, message: str) -> Problem:
        return Problem.required(self.path, message)

    def forbidden(self, message: str) -> Problem:
        return Problem.forbidden(self.path, message)

    def too_many(self, count: int, message: str) -> Problem:
        return Problem(self.path, "FieldValueTooMany", f"Too many: {count}: {message}")

    def too_long(self, message: str) -> Problem:
        return Problem(self.path, "FieldValueTooLong", f"Too long: {message}")

    def duplicate(self, message: str) -> Problem:
        return Problem(self.path, "FieldValueDuplicate", f"Duplicate value: {message}")

    def not_supported(self, *supported: str) -> Problem:
        return Problem.not_supported(self.path, self.value, supported)


Problems = Iterator[Problem]
