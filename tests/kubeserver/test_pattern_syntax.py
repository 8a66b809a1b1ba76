"""Patterns of definitions mean what they mean in Go: recorded answers of its package regexp (`tests/data/patterns`)."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.apiextensions.patterns import compile_pattern
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, ApiWorld, tell, widget, widgets

RECORDED = Path(__file__).parents[1] / "data" / "patterns" / "matches.jsonl"


def answer(pattern: str, texts: list[str]) -> list[str] | None:
    try:
        compiled = compile_pattern(pattern)
    except ValueError:
        return None
    return [text for text in texts if compiled.matches(text)]


def test_a_pattern_matches_what_it_matches_in_go() -> None:
    lines: list[Any] = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    texts: list[str] = lines[0]
    recorded: dict[str, list[str] | None] = {
        pattern: None if places is None else [texts[place] for place in places] for pattern, places in lines[1:]
    }
    assert len(recorded) == 377
    assert {pattern: answer(pattern, texts) for pattern in recorded} == recorded


@pytest.mark.parametrize("pattern", ["(?=a)", "(a", r"(a)\1", "a**", r"(\pL{100}){10}", r"[\p{Cn}]"])
def test_what_is_no_pattern_or_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        compile_pattern(pattern)


def test_a_definition_with_such_a_pattern_is_taken_and_held_to() -> None:
    async def story(world: ApiWorld) -> None:
        definition: Manifest = widgets()
        for version in definition["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec["properties"]["template"] = {"type": "string", "pattern": r"^{{[[:alpha:]]+}}$"}
        assert (await world.create(DEFINITIONS, definition)).code == 201
        assert (await world.create(WIDGETS, widget("a", size=1, template="{{name}}"))).code == 201
        refused = await world.create(WIDGETS, widget("b", size=1, template="{{1}}"))
        assert (refused.code, "should match '^{{[[:alpha:]]+}}$'" in refused.body["message"]) == (422, True)

    tell(story)
