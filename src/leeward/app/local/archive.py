"""The file that a backup is: a tar archive of a copied store, and of the keys without which it is of little use.

It is written beside its place, for its owner only, and gets its name when it is whole and synced. Unpacking takes
regular files below the directory, and nothing else that an archive might hold.
"""

import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from leeward.app.local.errors import FleetError
from leeward.app.local.files import PRIVATE

STORE = "store.db"


def is_archive(path: Path) -> bool:
    """Whether it is one, and not a bare copy of a store."""
    return path.is_file() and tarfile.is_tarfile(path)


def write_archive(target: Path, store: Path, root: Path, files: Iterable[Path]) -> None:
    """`files` keep their paths under `root`; those that are not there are left out. Raises: FleetError."""
    beside = target.with_name(f".{target.name}.archive")
    try:
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                archive.add(store, STORE)
                for path in filter(Path.is_file, files):
                    archive.add(path, str(path.relative_to(root)))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        raise FleetError(f"the backup {target} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def unpack(archive: Path, directory: Path) -> None:
    """Puts what is in `archive` under `directory`, for its owner only. Raises: FleetError."""
    try:
        with tarfile.open(archive) as opened:
            for member in opened:
                _take(opened, member, directory)
    except (OSError, tarfile.TarError) as error:
        raise FleetError(f"the backup {archive} cannot be read: {error}") from error
    if not (directory / STORE).exists():
        raise FleetError(f"{archive} is no backup of Leeward's: there is no {STORE} in it")


def _take(opened: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> None:
    name = PurePosixPath(member.name)
    content = opened.extractfile(member) if member.isreg() else None
    if content is None or name.is_absolute() or ".." in name.parts:
        raise FleetError(f"{opened.name!s} is no backup of Leeward's: it holds {member.name!r}")
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())
