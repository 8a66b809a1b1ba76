"""Files that are either old or new, never half: written beside, synced, and put in place."""

import os
from pathlib import Path

PRIVATE = 0o600


def write_file(path: Path, content: bytes | str, mode: int = PRIVATE) -> None:
    """Replaces `path` in one step; directories that are missing are made, for their owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(descriptor, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def sync_directory(path: Path) -> None:
    """Makes the names in a directory last over a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
