"""States: what something was, and since when, for those who may know of it a moment later."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

REMEMBERED = 50
T = TypeVar("T")


@dataclass(slots=True)
class States(Generic[T]):
    """States that something had lately."""

    states: list[tuple[float, T]] = field(default_factory=list[tuple[float, Any]])

    def note(self, seconds: float, state: T) -> None:
        if not self.states or self.states[-1][1] != state:
            self.states = [*self.states[-REMEMBERED:], (seconds, state)]

    def since(self, seconds: float) -> list[T]:
        """States that it had at any time in the last `seconds`."""
        before = [state for at, state in self.states if at <= seconds]
        return [*before[-1:], *(state for at, state in self.states if at > seconds)]
