"""Absurd numbers of a member's objects (`core.amounts`), as long as the objects have them."""

from leeward.core.amounts import SHOWN, Doubts

TOLD_BYTES = 300
"""Bytes of an object that has some, beside the text; about."""


class AbsurdNumbers:
    __slots__ = ("_by_object", "_count", "size")

    def __init__(self) -> None:
        self._by_object: dict[str, Doubts] = {}
        self._count = 0
        self.size = 0
        """Bytes, about."""

    def has(self, name: str) -> bool:
        """Tells whether there are doubts about the object of that name."""
        return name in self._by_object

    def put(self, name: str, doubts: Doubts) -> None:
        """The doubts about the object of that name; empty for none."""
        self.remove(name)
        if doubts.count:
            self._by_object[name] = doubts
            self._count += doubts.count
            self.size += _size(doubts)

    def remove(self, name: str) -> None:
        doubts = self._by_object.pop(name, None)
        if doubts is not None:
            self._count -= doubts.count
            self.size -= _size(doubts)

    def doubts(self) -> Doubts:
        """Doubts of all objects, in the order in which these were found; only the first few with their words."""
        found: list[str] = []
        for doubts in self._by_object.values():
            found += doubts.found
            if len(found) >= SHOWN:
                break
        return Doubts(found[:SHOWN], self._count)


def _size(doubts: Doubts) -> int:
    return TOLD_BYTES + sum(map(len, doubts.found))
