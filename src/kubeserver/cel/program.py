"""What a compiled expression is to whoever asks it."""

from collections.abc import Mapping
from typing import Any, Protocol


class Unwritable(Exception):
    """An expression that cannot be compiled; the message says where it is wrong."""


class Program(Protocol):
    """A compiled expression."""

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Raises: ValueError when there is no result."""
        ...
