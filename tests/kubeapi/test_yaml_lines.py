"""YAML documents that know on which line each of their fields stands."""

import pytest

from kubeapi.codec import parse_first_yaml
from kubeapi.yaml_lines import FieldPath, YamlFault, parse_located_yaml

TEXT = """\
# a comment
apiVersion: v1
kind: List
items:
  - kind: ConfigMap
    data: {a: "1",
           b: "2"}
---
---
kind: Second
base: &base
  deep: 1
copy: *base
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 2),
        (("kind",), 3),
        (("items", 0), 5),
        (("items", 0, "data", "b"), 7),
        (("items", 0, "data", "c"), 6),
        (("items", 1), 4),
        (("items", "name"), 4),
        (("nothing", "there"), 2),
    ],
)
def test_a_field_is_found_and_else_what_is_next_above_it(path: FieldPath, line: int) -> None:
    assert next(parse_located_yaml(TEXT)).line_of(path) == line


def test_documents_are_told_apart_and_empty_ones_skipped() -> None:
    first, second = parse_located_yaml(TEXT)
    assert (second.value["kind"], second.line_of(), second.line_of(("copy", "deep"))) == ("Second", 10, 12)
    item = first.part(("items", 0))
    assert item is not None
    assert (item.value["kind"], item.line_of(("data",))) == ("ConfigMap", 6)
    assert first.part(("items", 7)) is None


def test_json_and_merged_keys_have_lines() -> None:
    (document,) = parse_located_yaml('{"kind": "A",\n"spec": {"b": [1,\n2]}}')
    assert (document.value["spec"]["b"], document.line_of(("spec", "b", 1))) == ([1, 2], 3)
    (merged,) = parse_located_yaml("base: &b\n  x: 1\nuse:\n  <<: *b\n  z: 2\n")
    assert (merged.value["use"], merged.line_of(("use", "x"))) == ({"x": 1, "z": 2}, 2)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r'"\ud83d\ude00 \uD83D\uDE00"', "\U0001f600 \U0001f600"),
        (r'"\\ud83d\\ude00"', r"\ud83d\ude00"),
        (r'"\ud83d, \ude00 and \ud83d\ud83d\ude00"', "\ufffd, \ufffd and \ufffd\U0001f600"),
        ('"a\x7fb\u2028c\x85d\ufeffe\uffff"', "a\x7fb\u2028c\x85d\ufeffe\uffff"),
        (r'"a\/b\u00e9\"\n"', 'a/bé"\n'),
    ],
)
def test_json_is_read_as_json(written: str, meant: str) -> None:
    text = f'{{"kind": {written},\n"spec": [1,\n2]}}'
    for given in (text, text.encode()):
        (document,) = parse_located_yaml(given)
        assert (document.value, document.line_of(("spec", 1))) == ({"kind": meant, "spec": [1, 2]}, 3)
        assert parse_first_yaml(given) == document.value


def test_yaml_that_begins_as_json_keeps_what_it_says() -> None:
    (document,) = parse_located_yaml(r"{a: '\ud83d\ude00', b: 1}")
    assert document.value == {"a": r"\ud83d\ude00", "b": 1}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: 1\nb: {{ .Values.x }}\n", 2, "not valid YAML"),
        ("[" * 200, 0, "nested deeper than 100 levels"),
        ("a: " + "x" * 5_000_000, 0, "more than 4194304 characters"),
        (b"\xff\xfe\xff", 0, "not valid YAML"),
        ("a: !!int x", 1, "not valid YAML"),
    ],
)
def test_what_is_no_yaml_names_the_line(text: str | bytes, line: int, said: str) -> None:
    with pytest.raises(YamlFault) as fault:
        list(parse_located_yaml(text))
    assert said in str(fault.value)
    assert fault.value.line == line
    assert "\n" not in str(fault.value)
