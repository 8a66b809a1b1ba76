"""Compiled expressions, which are remembered. The library behind them is loaded with the first one."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

REMEMBERED_PROGRAMS = 4_096


class Unwritable(ValueError):
    """An expression that cannot be compiled; the message says where it is wrong.

    One that an earlier version stored has no result."""


class Program(Protocol):
    """A compiled expression."""

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Raises: ValueError when there is no result."""
        ...


@lru_cache(REMEMBERED_PROGRAMS)
def compile_program(text: str, variables: tuple[str, ...] = ("self", "oldSelf")) -> Program:
    """Raises: Unwritable."""
    from kubeserver.cel.library import compile_cel

    return compile_cel(text, variables)
