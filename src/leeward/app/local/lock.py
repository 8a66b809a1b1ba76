"""One verb at a time changes a fleet: an advisory lock on DATA/lock, which the kernel drops when its holder ends."""

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO

from leeward.app.local.errors import FleetError, no_fleet
from leeward.app.local.layout import Layout
from leeward.app.local.waiting import wait_until


class FleetLocked(FleetError):
    """Another process has the lock."""


@contextmanager
def fleet_lock(layout: Layout, wait_seconds: float = 0, *, create: bool = False) -> Generator[None]:
    """Holds the lock; with `create` the data directory is made where it is missing.

    Raises: FleetError when there is no data directory, FleetLocked when another process has the lock for longer than
    `wait_seconds`.
    """
    with _open(layout, create=create) as file:
        if not wait_until(lambda: _try_lock(file), wait_seconds):
            raise FleetLocked(
                f"another leeward command is changing the fleet in {layout.root}: wait until it has ended"
            )
        yield


def _open(layout: Layout, *, create: bool) -> BinaryIO:
    try:
        if create:
            layout.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        return open(layout.lock_file, "wb")
    except FileNotFoundError as error:
        if create:
            raise _unusable(layout, "it cannot be made there") from error
        raise no_fleet(layout.root) from None
    except FileExistsError as error:
        raise _unusable(layout, "it is a file, and no directory") from error
    except OSError as error:
        raise _unusable(layout, error.strerror or str(error)) from error


def _unusable(layout: Layout, problem: str) -> FleetError:
    return FleetError(f"the data directory {layout.root} cannot be used: {problem}; give another --data-dir")


def _try_lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
