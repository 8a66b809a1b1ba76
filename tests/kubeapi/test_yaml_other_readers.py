"""YAML that we write is the same document to two readers of YAML 1.2, one in Python and one in Rust.

The real kubectl reads it in `tests/processes/test_yaml_readers.py`.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.diff import is_equal
from kubeapi.yaml_writing import render_inline_yaml, render_sorted_yaml, render_yaml_document, render_yaml_stream
from tests.yaml_readers import READERS

WORDS = [json.loads(line)[0] for line in Path("tests/data/yaml/words.jsonl").read_text().splitlines()]
TEXTS = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t#:-'\""))
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
WRITERS: list[Callable[[Any], str]] = [
    render_sorted_yaml,
    render_yaml_document,
    render_inline_yaml,
    lambda value: render_yaml_stream([value], width=80),
]
NAMES = ["sorted", "document", "inline", "stream"]
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)
each_writer = pytest.mark.parametrize("write", WRITERS, ids=NAMES)


@each_reader
@each_writer
@given(document=st.dictionaries(TEXTS, VALUES, max_size=5))
def test_a_document_that_we_write_is_the_same_to_other_readers(
    read: Callable[[str], Any], write: Callable[[Any], str], document: dict[str, Any]
) -> None:
    written = write(document)
    assert is_equal(read(written), document), written


@each_reader
@each_writer
def test_every_word_that_we_write_is_that_text_to_other_readers(
    read: Callable[[str], Any], write: Callable[[Any], str]
) -> None:
    document = {"values": WORDS, "keys": dict.fromkeys(WORDS, "key")}
    assert read(write(document)) == document


@each_reader
def test_a_number_is_none_the_less_a_number_to_other_readers(read: Callable[[str], Any]) -> None:
    for number in (8, 1000.0, 1e300, -0.5, 2**53, math.pi, 1e-7, 10.0**22):
        found = read(render_sorted_yaml([number]))
        assert found == [number]
        assert not isinstance(found[0], str)
