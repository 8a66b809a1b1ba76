"""The bodies of kubectl's imperative commands, byte by byte."""

from collections.abc import Iterator

import pytest

from kubeapi.meta import Manifest
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.serialization.protobuf import MEDIA_TYPE, UnknownMessage, Unwritable, parse_protobuf, render_protobuf
from kubeserver.structures.builtin import structure_of_kind
from kubeserver.structures.numbers import numbers_of
from kubeserver.structures.structure import Structure
from tests.kubeserver.api_world import CONFIG_MAPS, ApiWorld, tell


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3]) + bytes([value])
    data = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(data)]) + data


def _envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return b"k8s\x00" + _field(1, _field(1, api_version) + _field(2, kind)) + _field(2, message)


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
METADATA = _field(1, _field(1, "a") + _field(2, "") + _field(8, b"") + _field(11, _field(1, "l") + _field(2, "v")))
CONFIG_MAP = _envelope("v1", "ConfigMap", METADATA + _field(2, _field(1, "k") + _field(2, "v")) + _field(4, 0))


def test_fields_get_their_names_back_and_empty_ones_go():
    assert parse_protobuf(CONFIG_MAP) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"l": "v"}},
        "data": {"k": "v"},
        "immutable": False,
    }


def test_ports_are_numbers_or_names():
    def service(target: bytes) -> bytes:
        port = _field(1, _field(3, 80) + _field(4, target))
        return _envelope("v1", "Service", METADATA + _field(2, port))

    number = parse_protobuf(service(_field(1, 0) + _field(2, 99)))["spec"]["ports"][0]
    name = parse_protobuf(service(_field(1, 1) + _field(3, "web")))["spec"]["ports"][0]
    assert (number, name) == ({"port": 80, "targetPort": 99}, {"port": 80, "targetPort": "web"})


def test_an_empty_value_stays_where_it_says_something():
    pod = _field(2, _field(1, _field(1, "v") + _field(2, _field(2, b""))) + _field(4, 0) + _field(3, ""))
    spec = parse_protobuf(_envelope("v1", "Pod", METADATA + pod))["spec"]
    assert spec == {"volumes": [{"name": "v", "emptyDir": {}}], "terminationGracePeriodSeconds": 0}


def test_times_quantities_maps_of_lists_and_free_objects_are_written_as_in_json():
    quota = _field(2, _field(1, _field(1, "pods") + _field(2, _field(1, "3"))))
    born = _field(1, _field(1, "q") + _field(8, _field(1, 90)))
    read = parse_protobuf(_envelope("v1", "ResourceQuota", born + quota))
    assert (read["spec"], read["metadata"]["creationTimestamp"]) == ({"hard": {"pods": "3"}}, "1970-01-01T00:01:30Z")
    extra = _field(5, _field(1, "scope") + _field(2, _field(1, "a") + _field(1, "b")))
    review = _envelope("authorization.k8s.io/v1", "SubjectAccessReview", _field(2, _field(3, "jane") + extra))
    assert parse_protobuf(review)["spec"] == {"user": "jane", "extra": {"scope": ["a", "b"]}}
    revision = _envelope("apps/v1", "ControllerRevision", METADATA + _field(2, _field(1, '{"a":1}')) + _field(3, 4))
    assert parse_protobuf(revision)["data"] == {"a": 1}


def test_every_number_stands_for_a_field_of_its_struct():
    for kind in BUILT_IN:
        structure = structure_of_kind(kind.group, kind.version, kind.kind)
        assert structure is not None
        _check_numbers(structure, set())


def _check_numbers(structure: Structure, seen: set[str]) -> None:
    if structure.type in seen:
        return
    seen.add(structure.type)
    for name in _numbered_fields(structure.type):
        assert name in structure.fields, f"{structure.type}.{name}"
    for child in structure.fields.values():
        inner = child.item if child.form in ("list", "map") else child
        _check_numbers(inner, seen)


def _numbered_fields(struct: str) -> Iterator[str]:
    for numbered in numbers_of(struct).values():
        yield from _numbered_fields(numbered.name) if numbered.embedded else (numbered.name,)


def test_what_the_tables_do_not_know_is_refused_and_never_dropped():
    with pytest.raises(UnknownMessage, match="Gadget in v1"):
        parse_protobuf(_envelope("v1", "Gadget", b""))
    with pytest.raises(UnknownMessage, match="ConfigMap, field 9"):
        parse_protobuf(_envelope("v1", "ConfigMap", METADATA + _field(9, "something")))
    deep = b"".join(bytes([9 << 3 | 2, size]) for size in range(120, -1, -2))
    with pytest.raises(UnknownMessage, match="ConfigMap, field 9"):
        parse_protobuf(b"k8s\x00" + _field(1, _field(1, "v1") + _field(2, "ConfigMap")) + _field(2, deep))


@pytest.mark.parametrize("body", [b"", b"{}", CONFIG_MAP[:-9], b"k8s\x00\xff\xff"])
def test_garbled_bytes_are_no_message(body: bytes):
    with pytest.raises(ValueError, match=r"does not appear|cut off|wire type"):
        parse_protobuf(body)


def test_the_server_takes_them_and_answers_in_json():
    async def story(world: ApiWorld) -> None:
        made = await world.call("POST", CONFIG_MAPS, CONFIG_MAP, content_type=MEDIA_TYPE)
        assert (made.code, made.body["data"]) == (201, {"k": "v"})
        unknown = _envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", METADATA)
        refused = await world.call("POST", DEFINITIONS, unknown, content_type=MEDIA_TYPE)
        assert refused.code == 415
        options = _envelope("apps/v1", "DeleteOptions", _field(4, "Orphan"))
        gone = await world.call("DELETE", f"{CONFIG_MAPS}/a", options, content_type=MEDIA_TYPE)
        assert (gone.code, gone.body["metadata"]["finalizers"]) == (200, ["orphan"])
        garbled = await world.call("POST", CONFIG_MAPS, CONFIG_MAP[:-9], content_type=MEDIA_TYPE)
        assert garbled.code == 400

    tell(story)


_WHOLE: list[Manifest] = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "m", "fieldsV1": {"f:data": {"f:k": {}}}}],
        },
        "data": {"k": "v", "empty": ""},
        "binaryData": {"b": "AAE="},
        "immutable": False,
    },
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a"},
        "spec": {"renewTime": "2020-01-01T00:00:05.123456Z", "leaseDurationSeconds": 15},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "generation": 1},
        "spec": {
            "replicas": 0,
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "a",
                            "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 10},
                            "resources": {"limits": {"cpu": "1"}},
                        }
                    ]
                }
            },
        },
    },
]


@pytest.mark.parametrize("manifest", _WHOLE, ids=lambda manifest: manifest["kind"])
def test_what_is_written_is_read_back(manifest: Manifest):
    assert parse_protobuf(render_protobuf(manifest)) == manifest


def test_a_field_without_a_number_is_not_dropped():
    with pytest.raises(Unwritable):
        render_protobuf({"apiVersion": "v1", "kind": "ConfigMap", "nope": 1})


def test_who_reads_nothing_else_gets_protobuf():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        one = await world.call("GET", f"{CONFIG_MAPS}/a", accept=MEDIA_TYPE)
        assert (one.code, one.headers["content-type"]) == (200, MEDIA_TYPE)
        both = await world.call("GET", CONFIG_MAPS, accept=f"{MEDIA_TYPE}, application/json")
        assert both.body["items"][0]["data"] == {"k": "v"}
        listed = await world.call("GET", CONFIG_MAPS, accept=MEDIA_TYPE)
        assert "ConfigMapList" in listed.body
        gone = await world.call("DELETE", f"{CONFIG_MAPS}/a", accept=MEDIA_TYPE)
        assert gone.body["status"] == "Success"
        watched = await world.call("GET", CONFIG_MAPS, query={"watch": "true"}, accept=MEDIA_TYPE)
        assert watched.code == 406

    tell(story)
