"""Holds: what is kept from being well, and by how many faults. It mends nothing itself."""

import asyncio
from collections import Counter
from collections.abc import Callable


class Holds:
    """Counts who holds a thing, by its name. When all is `healed`, nothing is held any more."""

    def __init__(self) -> None:
        self.healed = False
        self._holders = Counter[str]()

    def hold(self, what: str) -> None:
        self._holders[what] += 1

    def let_go(self, what: str) -> bool:
        """Returns whether nobody holds it any more."""
        self._holders[what] -= 1
        return not self.is_held(what)

    def is_held(self, what: str) -> bool:
        return self._holders[what] > 0

    def let_all_go(self) -> None:
        self.healed = True
        self._holders.clear()

    async def during(self, what: str, seconds: float, begin: Callable[[], None], end: Callable[[], None]) -> None:
        """Begins it, and ends it after its time unless somebody else still holds it, or all is healed already."""
        self.hold(what)
        begin()
        await asyncio.sleep(seconds)
        if self.let_go(what) and not self.healed:
            end()
