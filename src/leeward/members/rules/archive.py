"""Archives as `tar` writes and reads them, of the files of a simulated container: what `kubectl cp` sends and receives.

Only plain files are taken; nothing is compressed, and nothing is written to a disk.
"""

import io
import posixpath
import tarfile
from collections.abc import Iterable, Mapping

MOST_BYTES = 1024 * 1024
"""Most bytes of all files that were written in one container; an archive may be as large again by what stands around
them."""


class ArchiveProblem(ValueError):
    """Problem in the words of `tar`."""


def packed(files: Mapping[str, bytes], paths: Iterable[str]) -> bytes:
    """The files at these paths, and below them. Raises: ArchiveProblem for a path where there is none."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writing:
        for path in map(_absolute, paths):
            below = path.rstrip("/") + "/"
            found = sorted(name for name in files if name == path or name.startswith(below))
            if not found:
                raise ArchiveProblem(f"{path}: No such file or directory")
            for name in found:
                entry = tarfile.TarInfo(name.removeprefix("/"))
                entry.size = len(files[name])
                writing.addfile(entry, io.BytesIO(files[name]))
    return archive.getvalue()


def unpacked(archive: bytes, directory: str) -> dict[str, bytes]:
    """The plain files of an archive, by absolute path. Raises: ArchiveProblem."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as reading:
            for entry in reading:
                content = reading.extractfile(entry) if entry.isreg() and not entry.issparse() else None
                if content is not None:
                    found[_absolute(f"{directory}/{entry.name}")] = content.read(MOST_BYTES)
    except (tarfile.TarError, ValueError) as error:
        raise ArchiveProblem(f"This does not look like a tar archive: {error}") from error
    return found


def _absolute(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))
