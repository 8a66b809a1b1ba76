"""The Python of the page and of the notebook: it runs, and the notebook shows the values of its cells."""

import ast
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from leeward import Fleet
from leeward.pytest_plugin import FleetStarter
from leeward.sim.virtual_fleet import VirtualFleet

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "python.md"
NOTEBOOK = ROOT / "examples" / "ask-a-fleet.ipynb"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    with chdir(tmp_path):
        yield tmp_path


def test_the_questions_of_the_page_are_answered(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with VirtualFleet(["member1", "member2", "member3"]) as fleet:
        fleet.apply("examples/divided.yaml")
        fleet.wait("1m")
        Fleet(fleet.picture()).save("fleet.yaml")
    exec(PYTHON.findall(PAGE.read_text())[0], {})
    assert capsys.readouterr().out.splitlines() == [
        "True",
        "No eviction is planned; 3 of 3 replicas are ready",
        "True",
    ]


@pytest.mark.usefixtures("directory")
def test_the_tests_of_the_page_pass(leeward_fleet: FleetStarter) -> None:
    tests = [block for block in PYTHON.findall(PAGE.read_text()) if block.startswith("def test_")]
    assert len(tests) == 2
    for block in tests:
        names: dict[str, Any] = {}
        exec(block, names)
        [test] = [value for name, value in names.items() if name.startswith("test_")]
        test(leeward_fleet)


@pytest.mark.usefixtures("directory")
def test_the_notebook_shows_what_its_cells_give() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells:
        shown = ["".join(output["data"]["text/plain"]) for output in cell["outputs"]]
        assert shown == run_cell("".join(cell["source"]), names)


def run_cell(source: str, names: dict[str, Any]) -> list[str]:
    """Texts that a notebook shows below the cell: the value of its last expression, unless that is None."""
    parsed = ast.parse(source)
    last = parsed.body[-1]
    if not isinstance(last, ast.Expr):
        exec(source, names)
        return []
    parsed.body.pop()
    exec(compile(parsed, "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return [] if value is None else [repr(value)]
