"""Values of Lua are those of Karmada's: recorded answers (`tests/data/lua`)."""

import json
from pathlib import Path
from typing import Any

import pytest

from leeward.core.interpreter.rules import InterpretationError
from leeward.lua.sandbox import Sandbox

RECORDED = Path(__file__).parents[2] / "data" / "lua" / "values.jsonl"
ANSWERS: list[list[str]] = [json.loads(line) for line in RECORDED.read_text().splitlines()]


def answer(sandbox: Sandbox, body: str) -> list[str]:
    try:
        (value,) = json.loads(sandbox.call(f"function F() {body} end", "F", [], 0))
    except InterpretationError:
        return ["error"]
    return told(value)


def told(value: Any) -> list[str]:
    match value:
        case None:
            return ["nil", "nil"]
        case bool():
            return ["boolean", json.dumps(value)]
        case str():
            return ["string", value]
        case _:
            return ["number", value]


def test_a_script_computes_what_it_computes_in_karmada() -> None:
    assert len(ANSWERS) == 125
    sandbox = Sandbox(1_000_000)
    for body, *recorded in ANSWERS:
        found = answer(sandbox, body)
        if recorded[0] == "number":
            assert (found[0] in ("number", "string"), float(found[-1])) == (True, float(recorded[1])), body
        else:
            assert found == recorded, body


@pytest.mark.parametrize(
    ("body", "text"),
    [("string.char(97, 255, 98)", "a\ufffdb"), ("'é' .. string.sub('é', 2)", "é\ufffd"), ("'中🙂'", "中🙂")],
)
def test_bytes_that_are_no_text_are_replaced(body: str, text: str) -> None:
    assert answer(Sandbox(100_000), f"return {body}") == ["string", text]


@pytest.mark.parametrize(
    ("script", "results"),
    [
        ("function F() return 3 end return 5", [5, 3]),
        ("function F() return 3, {a = 1} end", [3, {"a": 1}]),
    ],
)
def test_results_of_the_script_come_before_those_of_its_function(script: str, results: list[Any]) -> None:
    """Karmada: luavm, RunScript, which reads the results from the bottom of the stack."""
    assert json.loads(Sandbox(100_000).call(script, "F", [], 0)) == results


def test_a_script_that_only_returns_has_no_function() -> None:
    with pytest.raises(InterpretationError, match="has no function F"):
        Sandbox(100_000).call("return 5", "F", [], 0)
