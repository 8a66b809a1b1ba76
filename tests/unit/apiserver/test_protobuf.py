"""The bodies of kubectl's imperative commands, byte by byte."""

import pytest

from leeward.apiserver.protobuf import MEDIA_TYPE, UnknownMessage, parse_protobuf
from tests.api_world import CONFIG_MAPS, ApiWorld, tell


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3]) + bytes([value])
    data = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(data)]) + data


def _envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return b"k8s\x00" + _field(1, _field(1, api_version) + _field(2, kind)) + _field(2, message)


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


def test_what_the_tables_do_not_know_is_refused_and_never_dropped():
    with pytest.raises(UnknownMessage, match="Gadget in v1"):
        parse_protobuf(_envelope("v1", "Gadget", b""))
    with pytest.raises(UnknownMessage, match="ConfigMap, field 9"):
        parse_protobuf(_envelope("v1", "ConfigMap", METADATA + _field(9, "something")))


@pytest.mark.parametrize("body", [b"", b"{}", CONFIG_MAP[:-9], b"k8s\x00\xff\xff"])
def test_garbled_bytes_are_no_message(body: bytes):
    with pytest.raises(ValueError, match=r"does not begin|cut off|wire type"):
        parse_protobuf(body)


def test_the_server_takes_them_and_answers_in_json():
    async def story(world: ApiWorld) -> None:
        made = await world.call("POST", CONFIG_MAPS, CONFIG_MAP, content_type=MEDIA_TYPE)
        assert (made.code, made.body["data"]) == (201, {"k": "v"})
        unknown = _envelope("v1", "ResourceQuota", b"")
        refused = await world.call(
            "POST", "/api/v1/namespaces/default/resourcequotas", unknown, content_type=MEDIA_TYPE
        )
        assert refused.code == 415
        garbled = await world.call("POST", CONFIG_MAPS, CONFIG_MAP[:-9], content_type=MEDIA_TYPE)
        assert garbled.code == 400

    tell(story)
