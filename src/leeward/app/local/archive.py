"""The file that a backup is: a tar archive of a copied store, and of the keys without which it is of little use.

It is written beside its place, for its owner only, and gets its name when it is whole and synced. It begins with the
names of all that must be in it, for an archive that was cut off may look like a shorter one.

An archive is input: unpacking takes regular files under the names that a backup has (`problem_of_name`), of bounded
size and number, and nothing else that an archive might hold. It must not be compressed, so that it opens to no more
than its own size.
"""

import io
import os
import re
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from kubeapi.files import PRIVATE
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import CONTROL_PLANE, problem_of_member_name

STORE = "store.db"
FORMAT_VERSION = 1
MAX_STORE_BYTES = 16 << 30
MAX_FILE_BYTES = 1 << 20
"""Most bytes of each file but the store: a key, a certificate, a table of tokens, fleet.json."""
MAX_ENTRIES = 20_000
MAX_ARCHIVE_BYTES = MAX_STORE_BYTES + (1 << 30)
"""Most bytes that are taken of a backup that comes through a pipe."""

_CONTENTS = "backup.json"
_FLEET = "fleet.json"
_PAIR = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.(crt|key)")
_TOKENS = re.compile(r"[a-z][-a-z]{0,61}\.csv")
_COMPRESSED = {b"\x1f\x8b": "gunzip", b"BZh": "bunzip2", b"\xfd7zXZ": "unxz", b"\x28\xb5\x2f\xfd": "unzstd"}
_TAR_MAGIC, _TAR_MAGIC_OFFSET = b"ustar", 257


class _Contents(msgspec.Struct, frozen=True):
    """The names of the files, as they are in the archive; those of before had none of this."""

    format: int
    files: tuple[str, ...]


class _Versioned(msgspec.Struct):
    format: int


class _BoundedFile(io.FileIO):
    """A file of which no single read, such as of a header, fills the memory. Raises: tarfile.ReadError."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= MAX_FILE_BYTES:
            raise tarfile.ReadError(f"it has a header of {size} bytes")
        return super().read(size) or b""


def is_archive(path: Path) -> bool:
    """Tells whether it is one, and not a bare copy of a store. Raises: FleetError for one that is compressed."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(_TAR_MAGIC_OFFSET + len(_TAR_MAGIC))
    for magic, way_out in _COMPRESSED.items():
        if start.startswith(magic):
            raise FleetError(f"{path} is compressed: unpack it first, as with `{way_out}`")
    return start[_TAR_MAGIC_OFFSET:] == _TAR_MAGIC


def problem_of_name(name: str) -> str:
    """Reason for which a backup holds no file of this name; empty when it does."""
    match name.split("/"):
        case [only] if only in (STORE, _FLEET, _CONTENTS):
            return ""
        case ["pki", file] if _PAIR.fullmatch(file):
            return ""
        case ["control-plane", file] if file == SIGNING_KEY_FILE or _TOKENS.fullmatch(file):
            return ""
        case ["members", member, file] if file == SIGNING_KEY_FILE or _TOKENS.fullmatch(file):
            return problem_of_member_name(member)
        case _:
            return "no backup has a file of that name"


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
    """Unpacks `archive` under `directory`, for its owner only. Raises: FleetError when it is not whole, too."""
    wanted, taken, seen = {STORE}, set[str](), set[str]()
    try:
        with _BoundedFile(archive) as file, tarfile.open(archive, "r:", fileobj=file) as opened:
            for number, member in enumerate(opened, 1):
                _refuse_foreign(archive, number, member)
                if member.name in seen:
                    raise FleetError(
                        f"{archive} holds {member.name!r} twice, and nobody knows which counts: take another"
                    )
                seen.add(member.name)
                if member.name == _CONTENTS:
                    wanted |= _read_contents(opened, member)
                else:
                    _take(opened, member, directory)
                    taken.add(member.name)
    except (OSError, tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        raise FleetError(f"the backup {archive} cannot be read, or is not whole: {error}") from error
    missing = sorted(wanted - taken)
    if missing == [STORE]:
        raise FleetError(f"{archive} is no backup of Leeward's: there is no {STORE} in it")
    if missing:
        raise FleetError(f"the backup {archive} is not whole: {', '.join(missing)} is missing; take another one")
    _refuse_mixed(archive, taken)


def _refuse_foreign(archive: Path, number: int, member: tarfile.TarInfo) -> None:
    """Raises: FleetError for members that no backup has: links, devices, sparse files, foreign names, absurd sizes."""
    problem = problem_of_name(member.name)
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        problem = "it is no regular file"
    most = MAX_STORE_BYTES if member.name == STORE else MAX_FILE_BYTES
    if not problem and not 0 <= member.size <= most:
        problem = f"it has {member.size} bytes, and may have {most}"
    if not problem and number > MAX_ENTRIES:
        problem = f"it is one more than {MAX_ENTRIES} files"
    if problem:
        raise FleetError(f"{archive} is no backup of Leeward's: it holds {member.name!r}: {problem}")


def _refuse_mixed(archive: Path, names: Iterable[str]) -> None:
    """Raises: FleetError for an archive that is not of one component: the control plane and its fleet, or a member."""
    whose = {name.split("/")[1] if name.startswith("members/") else CONTROL_PLANE for name in names if name != STORE}
    if len(whose) > 1:
        raise FleetError(f"{archive} is no backup of Leeward's: it is of {', '.join(sorted(whose))} at once")


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
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FleetError(f"{opened.name!s} is no backup of Leeward's: {_CONTENTS}: {error}") from error


def _take(opened: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> None:
    """Writes a file whose name was checked. Raises: OSError, tarfile.TarError."""
    path = directory / member.name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = opened.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    with content, open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())
