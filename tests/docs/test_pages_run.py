"""The commands of the pages, on a fleet of real processes with the real kubectl, or on a recorded Karmada."""

import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.docs.console import BLOCK, PATIENCE_SECONDS, Step, Terminal, files_of, steps_of
from tests.docs.karmada_at_rest import KUBECONFIG
from tests.kubectl import needs_kubectl

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLEET = (
    Step("leeward up --timing fast --detach", ("...",)),
    Step("export KUBECONFIG=~/.leeward/kubeconfig", ()),
    Step("kubectl create -f examples/divided.yaml", ("...",)),
    Step("kubectl get deployment nginx", ("...", "nginx 3/3 3 3 1s")),
)
"""Steps whose fleet a page finds that does not start a fleet itself."""
PAGES = sorted(path for path in DOCS.rglob("*.md") if any(steps_of(path.read_text())))
OF_KARMADA = {"from-karmada"}
"""Pages whose commands are for a control plane that Karmada has run."""
SECTIONS = ("Start", "Moving from Karmada", "Runbooks", "How to")
"""Sections of the site: no command of theirs stands in a block that nobody types."""
NOT_TYPED: Mapping[str, str] = {
    "answers": "rendered of a picture that no fresh fleet is like (tests/answers_page.py)",
    "rehearsals": "rendered of such a picture (tests/rehearsals_page.py)",
    "lint": "rendered of manifests (tests/lint_page.py)",
    "estimators": "needs certificates by names of Services (tests/processes/test_estimator_process.py)",
    "systemd": "systemd runs neither in containers nor where these tests do",
    "karmadactl": "needs a real kube-apiserver (tests/e2e/test_cluster_proxy_front.py)",
}
TYPED = re.compile(r"^(?: {4}|\t)(?:\$ )?(?:leeward|kubectl|karmadactl|systemctl) ", re.MULTILINE)
FENCED = re.compile(r"^```(?!console|yaml).*?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    terminal = Terminal(tmp_path)
    try:
        yield terminal
    finally:
        terminal.type(Step("leeward down", ("...",)))


@contextmanager
def karmada(home: Path) -> Generator[None]:
    """A Karmada at rest, whose kubeconfig is in the home."""
    with (home / "karmada.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.docs.karmada_at_rest", str(home)], stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (home / KUBECONFIG).exists():
            assert process.poll() is None, (home / "karmada.log").read_text()
            assert time.monotonic() < deadline, (home / "karmada.log").read_text()
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0, (home / "karmada.log").read_text()


def steps(page: Path) -> list[Step]:
    found = list(steps_of(page.read_text()))
    starts = page.stem in OF_KARMADA or any(step.command.startswith("leeward up") for step in found)
    return found if starts else [*FLEET, *found]


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in OF_KARMADA], ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, terminal: Terminal) -> None:
    for name, content in files_of(page.read_text()).items():
        (terminal.home / name).write_text(content)
    for step in steps(page):
        terminal.type(step)


def test_the_page_of_the_switch_shows_what_its_commands_print_for_a_recorded_karmada(tmp_path: Path) -> None:
    with karmada(tmp_path):
        terminal = Terminal(tmp_path)
        for step in steps(DOCS / "from-karmada.md"):
            terminal.type(step)


def pages_of(section: str) -> Iterator[Path]:
    nav: list[dict[str, Any]] = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    (entry,) = [each[section] for each in nav if section in each]
    for path in [entry] if isinstance(entry, str) else [path for page in entry for path in page.values()]:
        yield DOCS / path


def test_no_command_of_these_sections_stands_where_nobody_types_it() -> None:
    untyped = set[str]()
    for page in (page for section in SECTIONS for page in pages_of(section)):
        rest = BLOCK.sub("", page.read_text())
        if TYPED.search(rest) or any(re.search(r"^\$ ", each["body"], re.MULTILINE) for each in FENCED.finditer(rest)):
            untyped.add(page.stem)
    assert untyped == NOT_TYPED.keys()
    assert {"index", "drain", "lua", "runbooks", "conditions", "from-karmada"} <= {page.stem for page in PAGES}
