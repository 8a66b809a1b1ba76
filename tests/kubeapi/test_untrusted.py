"""Looks into values of others: what is not of the expected type counts as absent."""

from typing import Any

import pytest

from kubeapi.untrusted import mapping_in, mappings_in, text_in, texts_in

ABSURD: tuple[Any, ...] = (None, 1, True, "text", ["text", 1, None, {"a": 1}, ["b"]], {"text": ["a"]})


@pytest.mark.parametrize("value", ABSURD)
def test_what_is_of_another_type_counts_as_absent(value: Any) -> None:
    given = {"field": value}
    assert mapping_in(given, "field") == (value if isinstance(value, dict) else {})
    assert list(mappings_in(given, "field")) == ([{"a": 1}] if isinstance(value, list) else [])
    assert texts_in(given, "field") == (["text"] if isinstance(value, list) else [])
    assert text_in(given, "field") == (value if isinstance(value, str) else "")


def test_what_is_not_there_is_absent() -> None:
    assert (mapping_in({}, "a"), list(mappings_in({}, "a")), texts_in({}, "a"), text_in({}, "a")) == ({}, [], [], "")
