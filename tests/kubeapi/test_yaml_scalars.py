"""Plain words of YAML, held against the recorded answers of sigs.k8s.io/yaml 1.6 (goyaml v2 2.4), Kubernetes' library.

tests/data/yaml/README.md says how they were made.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.yaml_scalars import is_text
from kubeapi.yaml_writing import render_inline_yaml, render_sorted_yaml

RECORDED: list[tuple[str, Any, Any, bool]] = [
    json.loads(line) for line in Path("tests/data/yaml/words.jsonl").read_text().splitlines()
]
ERROR = "no document"
WORDS = [word for word, *_ in RECORDED]


def read(text: str) -> Any:
    """Value of a document; an error is an error, whatever it says."""
    try:
        return codec.parse_first_yaml(text)
    except ValueError:
        return ERROR


def recorded(answer: Any) -> Any:
    return ERROR if isinstance(answer, dict) else json.loads(answer, parse_int=as_go_reads)


def as_go_reads(digits: str) -> int | float:
    return int(digits) if -(2**63) <= int(digits) < 2**64 else float(digits)


def test_a_plain_word_is_read_as_kubernetes_reads_it() -> None:
    wrong = [
        (word, ours, theirs)
        for word, answer, *_ in RECORDED
        if not is_equal(ours := [read(f"- {word}")], theirs := [recorded(answer)])
    ]
    assert wrong == []


def test_a_plain_key_is_read_as_kubernetes_reads_it() -> None:
    wrong = [
        (word, ours, theirs)
        for word, _, answer, _ in RECORDED
        if not is_equal(ours := [read(f"{word}: 0")], theirs := [recorded(answer)])
    ]
    assert wrong == []


def test_a_text_is_quoted_wherever_kubernetes_quotes_it() -> None:
    """Kubernetes quotes what its own reader takes for no text, a date, and a number to the base of sixty."""
    assert [word for word, _, _, quoted in RECORDED if quoted and is_text(word)] == []
    ours = {word for word, _, _, quoted in RECORDED if not quoted and not is_text(word)}
    assert len(ours) < len(RECORDED) / 50, "only what YAML 1.1 takes for something else is quoted beyond that"


@pytest.mark.parametrize("render", [render_sorted_yaml, render_inline_yaml, codec.render_yaml])
def test_every_word_that_we_write_is_the_same_text_to_us_and_to_yaml_1_1(render: Any) -> None:
    written = render({"words": WORDS, "keys": dict.fromkeys(WORDS, "x")})
    for document in (codec.parse_first_yaml(written), yaml.safe_load(written)):
        assert document == {"words": WORDS, "keys": dict.fromkeys(WORDS, "x")}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=3))
def test_a_document_that_we_write_is_the_same_to_us_and_to_yaml_1_1(document: dict[str, Any]) -> None:
    for written in (render_sorted_yaml(document), codec.render_yaml(document), render_inline_yaml(document)):
        assert is_equal(codec.parse_first_yaml(written), document), written
        assert is_equal(yaml.safe_load(written), document), written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: !Foo 08", {"a": "08"}),
        ("a: !Foo {b: 1}", {"a": {"b": 1}}),
        ("a: !!python/object:x.Y {b: 1}", {"a": {"b": 1}}),
        ("a: !!str 08", {"a": "08"}),
        ("a: !!float 1", {"a": 1}),
        ("a: !!binary aGVsbG8=", {"a": "hello"}),
        ("a: !!binary |\n  aGVs\n  bG8=\n", {"a": "hello"}),
        ("a: !!omap [x: 1]", {"a": [{"x": 1}]}),
        ("a: !!int '08'", ERROR),
        ("a: !!bool x", ERROR),
        ("~: 1", ERROR),
        ("? [a]\n: 1", ERROR),
        ("a: .inf", ERROR),
        ('{"a": 1E400}', {"a": "1E400"}),
        ("a: &x {k: 1}\nc:\n  k: 5\n  <<: *x\nd:\n  <<: *x\n  k: 7", {"a": {"k": 1}, "c": {"k": 1}, "d": {"k": 7}}),
        ("a: <<\nb: 1\nb: 2", {"a": "<<", "b": 2}),
        ("matchType: =\nenum:\n- =\n- =~", {"matchType": "=", "enum": ["=", "=~"]}),
    ],
)  # fmt: skip
def test_tags_and_merges_are_read_as_kubernetes_reads_them(text: str, value: Any) -> None:
    """Answers of sigs.k8s.io/yaml 1.6 over goyaml v2 2.4: unknown tags are passed over, later fields count."""
    assert is_equal([read(text)], [value])
