"""The run that docs/rehearsals.md shows; `python -m tests.rehearsals_page` writes it anew."""

import io
import tempfile
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from leeward.answers.fleet_state import FleetState, encode_state
from leeward.cli.program import main
from tests.answers_page import named, with_room
from tests.builders import binding, cluster, divided, duplicated, targets
from tests.fleet_pictures import picture_of

PAGE = Path(__file__).parents[1] / "docs/rehearsals.md"
BEFORE, AFTER = "The scenario above, for a fleet of two regions:\n\n", "\n## What the copy cannot know"


def fleet() -> FleetState:
    clusters = [cluster("eu-1", region="eu"), cluster("us-1", region="us"), cluster("us-2", region="us")]
    apps = [
        named("ledger", binding(divided({"eu-1": 1}), 3, targets(**{"eu-1": 3}))),
        named("web", binding(divided({"eu-1": 2, "us-1": 1}), 6, targets(**{"eu-1": 4, "us-1": 2}))),
        named("agent", binding(duplicated("eu-1", "us-1"), 1, targets(**{"eu-1": 1, "us-1": 1}))),
    ]
    return picture_of(map(with_room, clusters), apps)


def scenario() -> str:
    """The first block of the page."""
    text = PAGE.read_text()
    begun = text.index("    apiVersion:")
    return textwrap.dedent(text[begun : text.index("\n\n`examples", begun)])


def page() -> str:
    """The page with the run of now."""
    head, _, rest = PAGE.read_text().partition(BEFORE)
    _, _, tail = rest.partition(AFTER)
    return f"{head}{BEFORE}{textwrap.indent(_run(), '    ')}{AFTER}{tail}"


def _run() -> str:
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        picture, file = Path(folder) / "fleet.json", Path(folder) / "scenario.yaml"
        picture.write_bytes(encode_state(fleet()))
        file.write_text(scenario())
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                main(["rehearse", str(file), "--from", str(picture)])
            except SystemExit as ended:
                code = ended.code
    return f"$ leeward rehearse scenario.yaml\n{printed.getvalue()}\nIt exits with {code}.\n"


if __name__ == "__main__":
    PAGE.write_text(page())
