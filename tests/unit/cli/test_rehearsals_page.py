"""docs/rehearsals.md: the run that it shows is what the verb prints, and its tables have the fields that there are."""

import re

import pytest

from leeward.sim.rehearsal.scenario_file import ACTIONS, CLAIMS, Expectation, ScenarioStep
from tests.rehearsals_page import PAGE, page


@pytest.mark.long
def test_the_page_of_rehearsals_shows_what_the_verb_prints() -> None:
    """`python -m tests.rehearsals_page` writes it anew."""
    assert page() == PAGE.read_text()


def test_the_page_of_rehearsals_has_each_step_and_each_claim() -> None:
    told = re.findall(r"^\| `(\w+):", PAGE.read_text(), re.MULTILINE)
    names = {name: wire for kind in (ScenarioStep, Expectation) for name, wire in _wire(kind)}
    assert told == [names[name] for name in (*ACTIONS, *CLAIMS)]


def _wire(kind: type[ScenarioStep] | type[Expectation]) -> list[tuple[str, str]]:
    return list(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
