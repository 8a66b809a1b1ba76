"""Formats that schemas give to strings of custom objects, and what these are held to."""

import pytest

from kubeserver.apiextensions.checks import check
from kubeserver.apiextensions.formats import has_format
from kubeserver.apiextensions.node import compile_schema

GOOD = [
    ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ("uuid", "6BA7B8109DAD11D180B400C04FD430C8"),
    ("uuid4", "9b2c8b1e-5b1f-4c53-a9d2-3f1d2f3a4b5c"),
    ("ipv4", "10.0.0.1"),
    ("ipv6", "fd00::1"),
    ("cidr", "10.0.0.1/8"),
    ("mac", "01:23:45:67:89:ab"),
    ("date", "2024-02-29"),
    ("date-time", "2024-02-29T00:00:00Z"),
    ("byte", "aGk="),
    ("of our own", "anything"),
]
BAD = [
    ("uuid", "6ba7b810"),
    ("uuid4", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ("ipv4", "fd00::1"),
    ("ipv4", "10.0.0.256"),
    ("ipv6", "10.0.0.1"),
    ("ipv6", "fe80::1%eth0"),
    ("cidr", "10.0.0.1"),
    ("cidr", "10.0.0.0/255.0.0.0"),
    ("mac", "01:23"),
    ("date", "2023-02-29"),
    ("date", "20240229"),
    ("datetime", "2024-02-29"),
    ("byte", "a-b_"),
]


@pytest.mark.parametrize(("name", "text"), GOOD)
def test_what_has_the_format_is_let_be(name: str, text: str) -> None:
    assert has_format(text, name)


@pytest.mark.parametrize(("name", "text"), BAD)
def test_what_has_not_is_found(name: str, text: str) -> None:
    assert not has_format(text, name)


def test_the_format_is_named() -> None:
    node = compile_schema({"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}})
    (problem,) = check(node, {"id": "a"})
    assert str(problem) == 'id: Invalid value: "a": id in body must be of type uuid: "a"'
