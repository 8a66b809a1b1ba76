"""Files that a user names on the command line: `-` is standard input and output, and a complaint names the flag."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

from kubeapi.named_files import STANDARD, is_regular, write_named
from leeward.app.local import FleetError

T = TypeVar("T")
MAX_KUBECONFIG_BYTES = 16 * 1024**2
_STANDARD_INPUT_OF = "leeward.cli.named_files.standard_input_of"
_READ = "leeward.cli.named_files.read"


class _NamedFile(click.Path):
    """A file, or `-`. A file that is called so is named `./-`."""

    def __init__(self, *, dir_okay: bool = False, exists: bool = False) -> None:
        super().__init__(dir_okay=dir_okay, exists=exists, allow_dash=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path != STANDARD:
            return path
        if str(value) != str(STANDARD):
            return path.absolute()
        return self.take_standard(param, ctx)

    def take_standard(self, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """`-`, where this parameter may have it."""
        return STANDARD


class OutputFile(_NamedFile):
    """A file to write: its directory has to be there, since it may be mistyped. Raises: FleetError."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Path = super().convert(value, param, ctx)
        parent = path.parent if path == STANDARD else Path(os.path.realpath(path)).parent
        if not parent.is_dir():
            flag = f"{param.opts[-1]}: " if isinstance(param, click.Option) else ""
            way_out = f"`mkdir -p {shlex.quote(str(parent))}` makes it"
            raise FleetError(f"{flag}{path} cannot be written: there is no directory {parent}; {way_out}")
        return path


class InputFile(_NamedFile):
    """A file to read. Standard input can be read once, so that one parameter alone may name it."""

    def take_standard(self, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if ctx is not None and param is not None:
            taken_by = ctx.meta.setdefault(_STANDARD_INPUT_OF, param.name)
            if taken_by != param.name:
                self.fail("standard input can be one file only: name the other one", param, ctx)
        return STANDARD


def called(path: Path) -> str:
    """Words for the file in a message about its content."""
    return "standard input" if path == STANDARD else str(path)


def write_output(path: Path, content: bytes | BinaryIO, *, private: bool = False) -> None:
    """Writes to the file that the user has named. Raises: FleetError."""
    try:
        write_named(path, content, private=private)
    except OSError as error:
        named = "standard output" if path == STANDARD else str(path)
        raise FleetError(f"{named} cannot be written: {error.strerror}") from error


def read_input(path: Path, limit: int) -> bytes:
    """Reads no more than `limit` bytes: a device or a pipe has no size, and is read once. Raises: FleetError."""
    context = click.get_current_context(silent=True)
    read: dict[Path, bytes] = context.meta.setdefault(_READ, {}) if context is not None else {}
    try:
        body = read[path] if path in read else _read(path, limit)
    except OSError as error:
        raise FleetError(f"{called(path)} cannot be read: {error.strerror}") from error
    if len(body) > limit:
        raise FleetError(f"{called(path)} is larger than {limit} bytes")
    if not is_regular(path):
        read[path] = body
    return body


def _read(path: Path, limit: int) -> bytes:
    if path == STANDARD:
        return sys.stdin.buffer.read(limit + 1)
    with path.open("rb") as opened:
        return opened.read(limit + 1)


def decode_file(path: Path, decode: Callable[[bytes], T], failure: type[Exception], way_out: str, limit: int) -> T:
    """Decodes a file that the user has named. Raises: FleetError."""
    body = read_input(path, limit)
    try:
        return decode(body)
    except failure as error:
        raise FleetError(f"{called(path)} cannot be read: {error}; {way_out}") from error


def kubeconfig_in(path: Path) -> Path | Mapping[str, Any]:
    """Source of a kubeconfig: the file, or the contents of a pipe, of which nobody can read twice. Raises:
    FleetError."""
    from kubeapi.codec import parse_yaml

    if is_regular(path) or (path != STANDARD and not path.exists()):
        return path

    def read(body: bytes) -> Mapping[str, Any]:
        documents = list(parse_yaml(body))
        if len(documents) != 1:
            raise ValueError(f"it holds {len(documents)} documents instead of one")
        return documents[0]

    return decode_file(path, read, ValueError, "give a kubeconfig", MAX_KUBECONFIG_BYTES)
