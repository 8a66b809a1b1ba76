"""Directory in which a backup is unpacked, or made for a pipe. It holds Secrets and keys, and goes at the end.

Its lock ends with its process. The next process deletes the leavings of a killed one.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "leeward-restore-"


@contextmanager
def unpacking() -> Generator[Path]:
    _delete_left_behind()
    path, descriptor = _locked()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _locked() -> tuple[Path, int]:
    """A directory of its own, and its lock. Another process may take one for left behind before it is locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def _delete_left_behind() -> None:
    """Deletes directories of this user that no process holds."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.geteuid():
                    shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(descriptor)
