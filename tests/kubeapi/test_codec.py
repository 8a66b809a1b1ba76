"""JSON for the wire, and YAML from users, which is bounded."""

from typing import Literal

import msgspec
import pytest

from kubeapi import codec
from kubeapi.meta import Object, ObjectMeta
from kubeapi.yaml_reading import MAX_DEPTH


class Claim(Object, frozen=True, kw_only=True):
    """Fields whose names differ on the wire: by rule, and by a name of their own."""

    metadata: ObjectMeta
    access_mode: Literal["", "ReadOnce"] = ""
    volume_id: str = msgspec.field(default="", name="volumeID")


CLAIM = Claim(metadata=ObjectMeta(name="data"), access_mode="ReadOnce", volume_id="v-1")


def test_a_struct_goes_over_the_wire_with_the_names_of_kubernetes() -> None:
    wire = codec.to_wire(CLAIM)
    assert wire == {"metadata": {"name": "data"}, "accessMode": "ReadOnce", "volumeID": "v-1"}
    assert codec.from_wire(wire, Claim) == CLAIM
    assert codec.decode(codec.encode(CLAIM), Claim) == CLAIM


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"metadata": {}, "accessMode": "Sideways"}'])
def test_what_cannot_be_decoded_is_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(codec.DecodeError):
        codec.decode(data, Claim)


def test_a_yaml_stream_is_read_without_its_empty_documents() -> None:
    assert list(codec.parse_yaml("a: 1\n---\n---\nb: [x]\n")) == [{"a": 1}, {"b": ["x"]}]


def test_timestamps_in_yaml_stay_text() -> None:
    assert list(codec.parse_yaml("at: 2000-01-01T00:00:00Z")) == [{"at": "2000-01-01T00:00:00Z"}]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("a: [", "not valid YAML"), ("- a", "is a list, not a mapping"), ("!!int x", "not valid YAML")],
)
def test_other_yaml_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        list(codec.parse_yaml(text))


def levels_of_aliases(written: str) -> str:
    """Nine levels, each ten times as large as the one before."""
    levels = (f"a{level}: &a{level} " + written.replace("?", f"*a{level - 1}") for level in range(1, 10))
    return "\n".join(["a0: &a0 {x: y}", *levels])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (levels_of_aliases(f"[{', '.join('?' * 10)}]"), "more than 50000 values, its aliases written out"),
        (levels_of_aliases(f"{{<<: [{', '.join('?' * 10)}]}}"), "more than 50000 values, its aliases written out"),
        (f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 50)}]", "more than 4194304 characters"),
        ("a: &a [*a]", "the alias a stands before the end of what it refers to"),
    ],
)
def test_yaml_that_grows_by_its_aliases_is_refused_before_it_is_expanded(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        list(codec.parse_yaml(text))


def test_aliases_are_what_they_refer_to() -> None:
    assert list(codec.parse_yaml("a: &a {x: 1}\nb: [*a, *a]")) == [{"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}]}]


@pytest.mark.parametrize("number", ["1" + ":10" * 3, "1:10.5", "1" * 5_000, "-0x" + "f" * 100])
def test_numbers_that_kubernetes_does_not_read_stay_text(number: str) -> None:
    assert list(codec.parse_yaml(f"a: {number}\nb: 12\nc: 1.5")) == [{"a": number, "b": 12, "c": 1.5}]


def test_yaml_nested_too_deeply_is_refused() -> None:
    deep = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    with pytest.raises(ValueError, match="nested deeper than 100"):
        list(codec.parse_yaml(f"a: {deep}"))


def test_rendered_yaml_is_read_back() -> None:
    assert list(codec.parse_yaml(codec.render_yaml(CLAIM))) == [codec.to_wire(CLAIM)]


def nested(levels: int) -> str:
    return '{"f:a":' * levels + "{}" + "}" * levels


def test_deep_managed_fields_of_one_object_hide_no_other() -> None:
    """A kube-apiserver of 1.36 stores 9,000 levels for whoever may write a ConfigMap."""
    told = '"a\\"metadata\\":{\\"managedFields\\":[": "}]"'
    usual = f'{{"metadata":{{"managedFields":[{{"fieldsV1":{nested(150)}}}],"name":"usual"}},"data":{{{told}}}}}'
    deep = (
        f'{{"metadata":{{"managedFields": [{{"fieldsV1":{nested(9_000)}}}, {{}}],"name":"deep"}},"data":{{"b":"c"}}}}'
    )
    read = codec.decode_any(f'{{"metadata":{{}},"items":[{usual},{deep},{usual}]}}'.encode())
    assert read["items"][0] == read["items"][2] == codec.decode_any(usual.encode())
    assert read["items"][1] == {"metadata": {"managedFields": [], "name": "deep"}, "data": {"b": "c"}}


@pytest.mark.parametrize("field", ["spec", "managedFields"])
def test_other_json_that_is_nested_too_deeply_is_not_read_in_part(field: str) -> None:
    with pytest.raises(codec.DecodeError, match="nested too deeply"):
        codec.decode_any(f'{{"metadata":{{}},"spec":{{"{field}":[{nested(9_000)}]}}}}'.encode())
