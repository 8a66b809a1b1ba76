"""Origin of this Leeward: its version, the commit, and the Python that it runs on."""

import platform
from importlib.resources import files

import msgspec

from leeward import __version__


class _Commit(msgspec.Struct, frozen=True):
    """Commit as the build's hook (`hatch_build.py`) wrote it into the wheel."""

    commit: str = ""
    committed: str = ""
    changed: bool = False


class Build(msgspec.Struct, frozen=True):
    """`commit` is empty where none is recorded: a working tree, or a build outside of a repository."""

    version: str
    commit: str
    committed: str
    """The commit's date, as `2026-11-23T11:00:00+00:00`; empty where it is not known."""
    changed: bool
    """Files differed from the commit when it was built."""
    python: str
    platform: str


def this_build() -> Build:
    """Reads `build.json` beside the package; a working tree has none."""
    record = files("leeward").joinpath("build.json")
    commit = msgspec.json.decode(record.read_bytes(), type=_Commit) if record.is_file() else _Commit()
    return Build(
        version=__version__,
        commit=commit.commit,
        committed=commit.committed,
        changed=commit.changed,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=f"{platform.system()} {platform.machine()}",
    )
