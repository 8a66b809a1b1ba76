"""Names of what has changed since somebody looked; beyond a bound it is all that may have."""

MOST_NAMES_KEPT = 20_000


class ChangedNames:
    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: set[str] | None = None

    def add(self, name: str) -> None:
        if self._names is not None:
            self._names.add(name)
            if len(self._names) > MOST_NAMES_KEPT:
                self._names = None

    def take(self) -> set[str] | None:
        """The names since the last time; None for all that there are, as at first."""
        names, self._names = self._names, set()
        return names
