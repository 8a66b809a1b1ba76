"""Bounded waiting for synchronous code, by asking again and again."""

import time
from collections.abc import Callable

from kubeapi.loop import Deadline

POLL_SECONDS = 0.03


def wait_until(condition: Callable[[], bool], seconds: float, poll_seconds: float = POLL_SECONDS) -> bool:
    """Tells whether `condition` came true within `seconds`; it is asked at least once."""
    deadline = Deadline(seconds)
    while not condition():
        if deadline.has_passed:
            return False
        time.sleep(poll_seconds)
    return True
