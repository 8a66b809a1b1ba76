"""The log files of components: opened for a new process, their last lines, and followed as they grow."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LARGE_LOG_BYTES = 10 * 1024 * 1024
TAIL_BYTES = 1024 * 1024
POLL_SECONDS = 0.2
_FATAL = re.compile(r' level=critical .* message=(".*")$')


def open_log(path: Path) -> int:
    """A descriptor that appends to the log; a large one is set aside first, in the place of the one before."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists() and path.stat().st_size > LARGE_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def last_lines(path: Path, count: int) -> list[str]:
    """Lines at the end of the file, `count` of them and at most a mebibyte; none when there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return lines[-count:] if count else []


def fatal_reason(path: Path) -> str:
    """The sentence with which the process that logged there last has ended; empty when it said none."""
    found = [match for line in last_lines(path, 1) if (match := _FATAL.search(line))]
    return str(json.loads(found[0][1])) if found else ""


def follow(path: Path, pause: Callable[[float], None] = time.sleep) -> Iterator[str]:
    """Text that is appended from now on, for ever; a log that is set aside is followed to its successor."""
    position = path.stat().st_size if path.exists() else 0
    while True:
        if path.exists():
            size = path.stat().st_size
            position = 0 if size < position else position
            if size > position:
                with path.open("rb") as file:
                    file.seek(position)
                    content = file.read(TAIL_BYTES)
                position += len(content)
                yield content.decode(errors="replace")
        pause(POLL_SECONDS)
