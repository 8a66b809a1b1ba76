"""The commands of the pages, on a fleet of real processes with the real kubectl."""

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.docs.console import Step, Terminal, files_of, steps_of
from tests.kubectl import needs_kubectl

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLEET = (
    Step("leeward up --timing fast --detach", ("...",)),
    Step("export KUBECONFIG=~/.leeward/kubeconfig", ()),
    Step("kubectl create -f examples/divided.yaml", ("...",)),
    Step("kubectl get deployment nginx", ("...", "nginx 3/3 3 3 1s")),
)
"""What a page finds that does not start a fleet itself."""
PAGES = sorted(path for path in DOCS.rglob("*.md") if any(steps_of(path.read_text())))

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    terminal = Terminal(tmp_path)
    try:
        yield terminal
    finally:
        terminal.type(Step("leeward down", ("...",)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, terminal: Terminal) -> None:
    text = page.read_text()
    for name, content in files_of(text).items():
        (terminal.home / name).write_text(content)
    steps = list(steps_of(text))
    if not any(step.command.startswith("leeward up") for step in steps):
        steps = [*FLEET, *steps]
    for step in steps:
        terminal.type(step)


def test_the_pages_of_how_to_and_start_are_among_them() -> None:
    assert {"index", "drain", "lua"} <= {page.stem for page in PAGES}
