"""Expressions of CEL have the values that they have in Kubernetes: recorded answers (`tests/data/cel`)."""

import json
import math
from base64 import b64encode
from pathlib import Path
from typing import Any, cast

from kubeserver.cel import Unwritable, compile_program

RECORDED = Path(__file__).parents[1] / "data" / "cel"


def answer(text: str) -> Any:
    """The value as JSON; "none" where the expression is refused, or has no value."""
    try:
        return plain(compile_program(text, ()).evaluate({}))
    except (Unwritable, ValueError):
        return "none"


def plain(value: Any) -> Any:
    match value:
        case bytes() | bytearray():
            return b64encode(value).decode()
        case float() if not math.isfinite(value):
            return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}[repr(value)]
        case list():
            return [plain(each) for each in cast("list[Any]", value)]
        case dict():
            return {str(key): plain(each) for key, each in cast("dict[Any, Any]", value).items()}
        case str() | bool() | int() | float() | None:
            return value
        case _:
            return f"a {type(value).__name__}"


def differing() -> list[str]:
    recorded = [json.loads(line) for line in (RECORDED / "expressions.jsonl").read_text().splitlines()]
    assert len(recorded) >= 500
    return [text for text, *_, value in recorded if json_text(answer(text)) != json_text(value)]


def json_text(value: Any) -> str:
    """Text that is the same for 1 and 1.0, which JSON does not tell apart."""
    return json.dumps(json.loads(json.dumps(value), parse_float=whole), sort_keys=True)


def whole(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def test_an_expression_has_its_value_of_kubernetes_but_for_those_that_the_library_cannot() -> None:
    """`docs/apiserver.md` names their functions."""
    assert differing() == (RECORDED / "differences.txt").read_text().splitlines()
