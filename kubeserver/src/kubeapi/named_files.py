"""Files that a user names for output: they get another content, and stay what they are.

    regular file, or a link to one   replaced in one step, with its permission bits; the link stays
    what is not there                made, for its owner alone
    pipe, FIFO, device, descriptor   written through
    standard output (`-`)            written to, as it is open: neither cut off nor opened anew

A regular file of another owner, with several names, or in a directory that takes no new file, is written through, too.
One that may not be written stays as it is.
"""

import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from kubeapi.files import PRIVATE

STANDARD: Final = Path("-")
"""Name of standard input and output, where a file is named."""
_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2
_MOST_LINKS = 40
_PIECE = 1 << 20


def write_named(path: Path, content: bytes | BinaryIO, *, private: bool = False) -> None:
    """Writes `content` to what `path` names. `private`: nobody but the owner of a regular file may read it.

    Raises: OSError.
    """
    source = io.BytesIO(content) if isinstance(content, bytes) else content
    if path == STANDARD:
        sys.stdout.flush()
        copy(source, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        _make(Path(os.path.realpath(path)), source)
        return
    if not stat.S_ISREG(seen.st_mode) or _is_descriptor(path, seen) or not _replace(path, source, seen, private):
        _write_through(path, source, seen, private=private)


def is_standard_output(path: Path) -> bool:
    """Tells whether what is written to `path` comes out of standard output, also by another name of it."""
    if path == STANDARD:
        return True
    try:
        return os.path.samestat(os.stat(path), os.fstat(_STANDARD_OUTPUT))
    except OSError:
        return False


def copy(source: BinaryIO, target: BinaryIO) -> None:
    """Copies all that is left in `source`."""
    while piece := source.read(_PIECE):
        target.write(piece)


def is_regular(path: Path) -> bool:
    """Tells whether `path` is a regular file, or a link to one: it has a size, and can be read twice."""
    return path != STANDARD and path.is_file()


def _make(target: Path, source: BinaryIO) -> None:
    beside = _beside(target)
    try:
        _fill(beside, source)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _replace(path: Path, source: BinaryIO, seen: os.stat_result, private: bool) -> bool:
    """Replaces a regular file in one step; False where that would change more than its content."""
    target = Path(os.path.realpath(path))
    if not os.access(target, os.W_OK):
        return False
    try:
        beside = _beside(target)
    except OSError:
        return False
    try:
        made = os.stat(beside)
        if seen.st_nlink > 1 or (made.st_uid, made.st_gid) != (seen.st_uid, seen.st_gid):
            return False
        beside.chmod(_mode(seen, private))
        _fill(beside, source)
        try:
            beside.replace(target)
        except OSError:  # it is mounted there by itself, for example
            source.seek(0)
            return False
        return True
    finally:
        beside.unlink(missing_ok=True)


def _write_through(path: Path, source: BinaryIO, seen: os.stat_result, *, private: bool) -> None:
    sys.stdout.flush()
    own = [each for each in (_STANDARD_OUTPUT, _STANDARD_ERROR) if _is_open_as(each, seen)]
    if own:
        descriptor = os.dup(own[0])
    else:
        is_file = stat.S_ISREG(seen.st_mode)
        descriptor = os.open(path, os.O_WRONLY | (os.O_TRUNC if is_file else 0))
        if is_file and private:
            with suppress(PermissionError):
                os.fchmod(descriptor, _mode(seen, private))
    with open(descriptor, "wb") as file:
        copy(source, file)


def _beside(target: Path) -> Path:
    path = target.with_name(f".leeward-{os.urandom(8).hex()}")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    return path


def _fill(path: Path, source: BinaryIO) -> None:
    with path.open("wb") as file:
        copy(source, file)
        file.flush()
        os.fsync(file.fileno())


def _mode(seen: os.stat_result, private: bool) -> int:
    mode = stat.S_IMODE(seen.st_mode)
    return mode & PRIVATE if private else mode


def _is_open_as(descriptor: int, seen: os.stat_result) -> bool:
    try:
        return os.path.samestat(seen, os.fstat(descriptor))
    except OSError:
        return False


def _is_descriptor(path: Path, seen: os.stat_result) -> bool:
    """Tells whether `path` leads to a descriptor that is open (`/dev/stdout`, `/dev/fd/3`), and not to a name."""
    if _is_open_as(_STANDARD_OUTPUT, seen) or _is_open_as(_STANDARD_ERROR, seen):
        return True
    step = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(step))
        if folder.startswith(("/proc/", "/dev/fd")):
            return True
        if not os.path.islink(step):
            return False
        step = os.path.join(folder, os.readlink(step))
    return False
