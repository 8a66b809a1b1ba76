"""Steps that a history may have: each has its words in a story, and each fault strikes.

The words and the ways to strike stand in several functions, of which the last one raises. So a step that was forgotten
would be found by the first history that draws it, and this finds it at once.
"""

import ast
from pathlib import Path
from typing import get_args

import pytest

from simulator.histories.model import AnyFault, AnyStep

HISTORIES = Path(__file__).parents[4] / "src/simulator/histories"


def matched_in(*files: str) -> set[str]:
    """Names of the classes for which the modules have a case."""
    trees = [ast.parse((HISTORIES / file).read_text()) for file in files]
    cases = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.MatchClass)]
    return {ast.unparse(case.cls) for case in cases}


@pytest.mark.parametrize(
    ("steps", "files"),
    [(AnyStep, ("story_text.py",)), (AnyFault, ("faults/outages.py", "faults/disturbances.py"))],
    ids=["words", "strikes"],
)
def test_no_step_is_forgotten(steps: object, files: tuple[str, ...]) -> None:
    assert matched_in(*files) >= {step.__name__ for step in get_args(steps)}
