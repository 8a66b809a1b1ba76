"""OpenAPI of version 2 as protobuf: what Go's clients find behind each number."""

from typing import Any

import pytest

from kubeapi.protobuf_wire import Raw, fields, message_of, text_of
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.discovery.openapi_paths import paths_of
from kubeserver.discovery.openapi_types import V2, definition_name, definitions
from kubeserver.serialization.protobuf.openapi import render_document


def _document(schemas: dict[str, Any], paths: dict[str, Any] | None = None) -> dict[int, Raw]:
    info = {"title": "Kubernetes", "version": "v1"}
    rendered = render_document({"swagger": "2.0", "info": info, "paths": paths or {}, "definitions": schemas})
    return dict(fields(rendered))


def _by_name(raw: Raw, number: int) -> dict[str, bytes]:
    """The entries of a map, which is a list of pairs."""
    pairs = [dict(fields(message_of(value))) for found, value in fields(message_of(raw)) if found == number]
    return {text_of(pair[1]): message_of(pair.get(2, b"")) for pair in pairs}


def _schema(schema: dict[str, Any]) -> dict[int, Raw]:
    return dict(fields(_by_name(_document({"a": schema})[9], 1)["a"]))


@pytest.mark.parametrize(
    ("schema", "number", "written"),
    [
        ({"$ref": "#/definitions/b"}, 1, b"#/definitions/b"),
        ({"format": "int32"}, 2, b"int32"),
        ({"description": "long " * 100}, 4, b"long " * 100),
        ({"maximum": 1.5}, 7, b"\x00\x00\x00\x00\x00\x00\xf8?"),
        ({"maxLength": 300}, 11, 300),
        ({"required": ["name"]}, 19, b"name"),
        ({"enum": ["a"]}, 20, b'\x12\x04"a"\n'),
        ({"additionalProperties": {"type": "string"}}, 21, b"\n\x0b\xb2\x01\x08\n\x06string"),
        ({"additionalProperties": True}, 21, b"\x10\x01"),
        ({"type": "object"}, 22, b"\n\x06object"),
        ({"items": {"format": "x"}}, 23, b"\n\x03\x12\x01x"),
    ],
)
def test_each_word_of_a_schema_has_its_number(schema: dict[str, Any], number: int, written: Raw):
    assert _schema(schema) == {number: written}


def test_what_has_no_number_is_left_out_and_extensions_go_as_yaml():
    schema = _schema({"oneOf": [{"type": "string"}], "x-kubernetes-list-type": "set"})
    assert list(schema) == [31]
    assert message_of(schema[31]) == b'\n\x16x-kubernetes-list-type\x12\x08\x12\x06"set"\n'


def test_every_built_in_kind_is_found_with_its_fields():
    document = _document(definitions(BUILT_IN, V2))
    found = _by_name(document[9], 1)
    assert {definition_name(kind) for kind in BUILT_IN} <= found.keys()
    deployment = dict(fields(found["io.k8s.api.apps.v1.Deployment"]))
    assert {"spec", "status", "metadata"} <= _by_name(deployment[25], 1).keys()
    assert b"Deployment" in message_of(deployment[31])


def test_an_operation_says_of_which_kind_it_is_and_whether_it_can_be_a_dry_run():
    config_map = next(kind for kind in BUILT_IN if kind.kind == "ConfigMap")
    paths = _by_name(_document({}, paths_of("/api/v1", config_map, V2))[8], 2)
    item = dict(fields(paths["/api/v1/namespaces/{namespace}/configmaps/{name}"]))
    assert set(item) == {2, 3, 5, 8}
    patch = list(fields(message_of(item[8])))
    assert b"dryRun" in b"".join(message_of(value) for number, value in patch if number == 8)
    assert b"ConfigMap" in b"".join(message_of(value) for number, value in patch if number == 13)
