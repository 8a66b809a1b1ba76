"""Formats and limits of custom values: recorded answers of kube-apiserver 1.36.2 (`tests/data/custom-values`)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubeserver.apiextensions.checks import check
from kubeserver.apiextensions.formats import has_format
from kubeserver.apiextensions.node import compile_schema

RECORDED = Path(__file__).parents[1] / "data" / "custom-values"


def recorded(name: str) -> Iterator[Any]:
    return map(json.loads, (RECORDED / name).read_text().splitlines())


def test_a_text_has_the_format_that_it_has_in_kubernetes() -> None:
    answers = list(recorded("formats.jsonl"))
    assert len(answers) == 481
    assert [[name, text, has_format(text, name)] for name, text, _ in answers] == answers


def problems(schema: Any, text: str) -> list[list[str]]:
    spec = {"type": "object", "properties": {"v": schema}}
    node = compile_schema({"type": "object", "properties": {"spec": spec}})
    return [[each.field or "<nil>", each.kind, each.message] for each in check(node, {"spec": {"v": json.loads(text)}})]


def test_a_number_is_refused_as_in_kubernetes() -> None:
    answers = list(recorded("numbers.jsonl"))
    assert len(answers) == 263
    assert [[schema, text, problems(schema, text)] for schema, text, _ in answers] == answers


def test_the_format_is_named() -> None:
    node = compile_schema({"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}})
    (problem,) = check(node, {"id": "a"})
    assert str(problem) == 'id: Invalid value: "a": id in body must be of type uuid: "a"'
