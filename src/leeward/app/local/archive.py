"""The file that a backup is: a tar archive of a copied store, and of the keys without which it is of little use.

It is written beside its place, for its owner only, and gets its name when it is whole and synced. It begins with the
names of all that must be in it, for an archive that was cut off may look like a shorter one. Unpacking takes regular
files below the directory, and nothing else that an archive might hold.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from leeward.app.local.errors import FleetError
from leeward.app.local.files import PRIVATE

STORE = "store.db"
FORMAT_VERSION = 1
_CONTENTS = "backup.json"


class _Contents(msgspec.Struct, frozen=True):
    """The names of the files, as they are in the archive; those of before had none of this."""

    format: int
    files: tuple[str, ...]


class _Versioned(msgspec.Struct):
    format: int


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
                named = [(store, STORE)]
                named += [(path, str(path.relative_to(root))) for path in files if path.is_file()]
                _write_contents(archive, [name for _, name in named])
                for path, name in named:
                    archive.add(path, name)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        raise FleetError(f"the backup {target} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def unpack(archive: Path, directory: Path) -> None:
    """Puts what is in `archive` under `directory`, for its owner only. Raises: FleetError when it is not whole, too."""
    wanted = {STORE}
    try:
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.name == _CONTENTS and member.isreg():
                    wanted |= _read_contents(opened, member)
                else:
                    _take(opened, member, directory)
    except (OSError, tarfile.TarError) as error:
        raise FleetError(f"the backup {archive} cannot be read, or is not whole: {error}") from error
    missing = sorted(name for name in wanted if not (directory / name).exists())
    if missing == [STORE]:
        raise FleetError(f"{archive} is no backup of Leeward's: there is no {STORE} in it")
    if missing:
        raise FleetError(f"the backup {archive} is not whole: {', '.join(missing)} is missing; take another one")


def _write_contents(archive: tarfile.TarFile, names: Sequence[str]) -> None:
    content = msgspec.json.encode(_Contents(FORMAT_VERSION, tuple(names)))
    entry = tarfile.TarInfo(_CONTENTS)
    entry.size, entry.mode = len(content), PRIVATE
    archive.addfile(entry, io.BytesIO(content))


def _read_contents(opened: tarfile.TarFile, member: tarfile.TarInfo) -> set[str]:
    """Raises: FleetError."""
    file = opened.extractfile(member)
    content = b"" if file is None else file.read()
    try:
        version = msgspec.json.decode(content, type=_Versioned).format
        if version != FORMAT_VERSION:
            raise FleetError(
                f"{opened.name!s} is a backup of format {version}, and this version of leeward reads format "
                f"{FORMAT_VERSION}: use the version that wrote it"
            )
        return set(msgspec.json.decode(content, type=_Contents).files)
    except msgspec.MsgspecError as error:
        raise FleetError(f"{opened.name!s} is no backup of Leeward's: {_CONTENTS}: {error}") from error


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
