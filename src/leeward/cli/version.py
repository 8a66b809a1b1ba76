"""`leeward version`"""

from typing import TYPE_CHECKING

import click

from leeward.cli.output import say

if TYPE_CHECKING:
    from leeward.app.build import Build


@click.command()
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="The form.")
def version(output: str) -> None:
    """Print the version, what it was built from, and what it runs on."""
    from leeward.app.build import this_build
    from leeward.cli.questions import rendered

    build = this_build()
    say(_text(build) if output == "text" else rendered(build, output))


def _text(build: "Build") -> str:
    return f"leeward {build.version}\nbuilt from  {_source(build)}\nruns on     {build.python}, {build.platform}"


def _source(build: "Build") -> str:
    if not build.commit:
        return "no recorded commit (a working tree, or a build outside of a repository)"
    day = f" of {build.committed[:10]}" if build.committed else ""
    return f"commit {build.commit[:12]}{day}{', with changes' if build.changed else ''}"
