"""Bodies and objects that are too deep or too large are refused, however they come about."""

import pytest

from kubeserver.limits import MAX_DEPTH, is_too_deep
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, WIDGETS, ApiWorld, config_map, tell, widget, widgets


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + closing * depth


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (nested(MAX_DEPTH), False),
        (nested(MAX_DEPTH + 1), True),
        (nested(100_000), True),
        (b"[" * 100_000, True),
        (nested(MAX_DEPTH + 1, b'{"a":', b"}"), True),
        (b"[" + b",".join([b"{}"] * 1_000) + b"]", False),
        (b'"' + b"[" * 1_000 + b'"', False),
        (b'["\\"' + b"[" * 1_000 + b'"]', False),
        (b"[" + nested(MAX_DEPTH - 1) * 10_000, False),
        (b"[" * MAX_DEPTH + b'"' + b'\\"' * 1_000_000 + b"[", False),
        (b"[" * (MAX_DEPTH + 1) + b'"' + b'\\"' * 1_000_000 + b"\\", True),
        (b"", False),
    ],
)
def test_depth_is_counted_outside_of_strings(body: bytes, expected: bool) -> None:
    assert is_too_deep(body) is expected


def test_a_body_that_is_too_deep_is_refused_whatever_it_is() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        for depth in (2 * MAX_DEPTH, 1_000, 100_000):
            body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"x":' + nested(depth) + b"}"
            assert (await world.create(CONFIG_MAPS, body)).code == 400
            patch = b'[{"op":"add","path":"/data","value":' + nested(depth) + b"}]"
            assert (await world.patch(f"{CONFIG_MAPS}/a", patch, "application/json-patch+json")).code == 400

    tell(story)


def test_small_patches_cannot_make_an_object_too_deep_or_too_large() -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        await world.create(WIDGETS, widget("a", size=1, free={"b": {"text": "x" * 100_000}}))
        codes: list[int] = []
        for step in range(8):
            copy = [{"op": "copy", "from": "/spec/free", "path": f"/spec/free/c{step}"}]
            codes.append((await world.patch(f"{WIDGETS}/a", copy, "application/json-patch+json")).code)
        assert (codes[0], codes[-1]) == (200, 413)
        empty: dict[str, str] = {}
        deep = [{"op": "test", "path": "/spec/size", "value": 1}]
        inner = {"op": "add", "path": "/spec/free/d", "value": empty}
        steps = [{"op": "add", "path": "/spec/free/d" + "/d" * level, "value": empty} for level in range(1, MAX_DEPTH)]
        await world.delete(f"{WIDGETS}/a")
        await world.create(WIDGETS, widget("a", size=1, free={}))
        answer = await world.patch(f"{WIDGETS}/a", [*deep, inner, *steps], "application/json-patch+json")
        assert answer.code == 400

    tell(story)
