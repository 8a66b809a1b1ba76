"""`leeward version`: the version, the commit, and the Python that it runs on."""

import platform
from importlib.resources import files

import click
import msgspec

from leeward import __version__
from leeward.cli.output import say


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


@click.command()
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="The form.")
def version(output: str) -> None:
    """Print the version, what it was built from, and what it runs on."""
    from leeward.cli.questions import rendered

    build = this_build()
    say(_text(build) if output == "text" else rendered(build, output))


def _text(build: Build) -> str:
    return f"leeward {build.version}\nbuilt from  {_source(build)}\nruns on     {build.python}, {build.platform}"


def _source(build: Build) -> str:
    if not build.commit:
        return "no recorded commit (a working tree, or a build outside of a repository)"
    day = f" of {build.committed[:10]}" if build.committed else ""
    return f"commit {build.commit[:12]}{day}{', with changes' if build.changed else ''}"


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
