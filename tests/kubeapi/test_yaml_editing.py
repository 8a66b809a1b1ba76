"""Changes of a YAML text: each makes the wanted value, and leaves the rest as it is written."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.codec import parse_yaml_documents
from kubeapi.diff import is_equal
from kubeapi.yaml_editing import Paused, edited

LISTED = """\
# Tiers, the dearest first.
tiers:
# for those who pay
- name: gold  # dear
  size: 1
# for guests
- name: tin
  size: 2
- name: lead
  size: 3
other: {a: [1, 2]}  # in one line
last: 1"""


def finished(steps: Paused[str]) -> str:
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return str(ended.value)


def changed(text: str, after: Any) -> str:
    return finished(edited(text, parse_yaml_documents(text)[0], after))


GOLD, TIN, LEAD = {"name": "gold", "size": 1}, {"name": "tin", "size": 2}, {"name": "lead", "size": 3}


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"tiers": [TIN, LEAD]}, [("- name: gold  # dear\n  size: 1\n", "")]),
        ({"tiers": [GOLD, LEAD]}, [("- name: tin\n  size: 2\n", "")]),
        ({"tiers": [GOLD, TIN]}, [("- name: lead\n  size: 3\n", "")]),
        ({"tiers": [GOLD, {**TIN, "size": 9}, LEAD]}, [("size: 2", "size: 9")]),
        (
            {"tiers": [{**GOLD, "more": 1}, TIN, LEAD, 4]},
            [("  size: 1\n", "  size: 1\n  more: 1\n"), ("3\n", "3\n- 4\n")],
        ),
        (
            {"tiers": [0, GOLD, 5, TIN, LEAD]},
            [("- name: gold", "- 0\n- name: gold"), ("- name: tin", "- 5\n- name: tin")],
        ),
        ({"other": {"a": [1, 3]}, "last": 2, "new": 0}, [("[1, 2]", "[1, 3]"), ("last: 1", "last: 2\nnew: 0")]),
        (
            {"other": {"b": 1}, "last": None},
            [(" {a: [1, 2]}  # in one line", "  # in one line\n  b: 1"), ("\nlast: 1", "")],
        ),
    ],
)
def test_several_changes_at_once_leave_the_rest_as_it_is(fields: dict[str, Any], parts: list[tuple[str, str]]) -> None:
    before = parse_yaml_documents(LISTED)[0]
    after = {name: value for name, value in {**before, **fields}.items() if value is not None}
    expected = LISTED
    for old, new in parts:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert changed(LISTED, after) == expected


VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from(["a", "b # c", "x\ny\n", "", "1"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


def written(value: dict[str, Any] | list[Any], indent: str = "") -> list[str]:
    """Lines of a block document with comments, as people write it."""
    lines = list[str]()
    items = (
        [(f"{name}:", item) for name, item in value.items()] if isinstance(value, dict) else [("-", v) for v in value]
    )
    for head, item in items:
        if isinstance(item, dict | list) and item:
            lines += [indent + head, f"{indent}  # below", *written(cast(list[Any], item), f"{indent}  ")]
        else:
            lines.append(f"{indent}{head} {json.dumps(item)}  # beside")
    return lines


@given(
    st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=4),
    st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=4),
)
def test_the_changed_text_says_what_was_wanted(before: Any, after: Any) -> None:
    text = "\n".join(written(before)) + "\n"
    assert is_equal(parse_yaml_documents(text), [before])
    try:
        made = changed(text, after)
    except ValueError:
        assert not before.keys() & after.keys(), "only a document of which nothing stays is written anew"
        return
    assert is_equal(parse_yaml_documents(made), [after])
