"""A rest for a silent server: it is left alone for a while, longer with every failure in a row, and then one
question at a time finds out whether it is back."""

FIRST_REST_SECONDS = 10.0
LAST_REST_SECONDS = 300.0


class Rest:
    """Rest of one party that is asked; instants are monotonic seconds."""

    __slots__ = ("_failures", "_until")

    def __init__(self) -> None:
        self._until: float | None = None
        self._failures = 0

    def may_ask(self, now: float) -> bool:
        """Tells whether to ask now; when a rest is over, only the first who comes may."""
        if self._until is None:
            return True
        if now < self._until:
            return False
        self._rest(now)
        return True

    def failed(self, now: float) -> bool:
        """Tells whether that is news."""
        if self._until is not None:
            return False
        self._rest(now)
        return True

    def answered(self) -> bool:
        """Tells whether that is news."""
        was_resting, self._until, self._failures = self._until is not None, None, 0
        return was_resting

    def _rest(self, now: float) -> None:
        self._until = now + min(FIRST_REST_SECONDS * 2 ** min(self._failures, 30), LAST_REST_SECONDS)
        self._failures += 1
