"""Long lists that were in order once are not looked at again; those that are not are found wrong each time."""

from typing import Any

from kubeserver.apiextensions.checked_lists_cache import MOST, SHORTEST, Memory
from kubeserver.apiextensions.schema import StructuralSchema

ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "maxLength": 5}, "size": {"type": "integer", "default": 1}},
}
SCHEMA = {"type": "object", "properties": {"items": {"type": "array", "items": ITEM}}}


def many(**more: Any) -> dict[str, Any]:
    return {"items": [{"name": f"n{index}", **more} for index in range(SHORTEST)]}


def test_what_is_wrong_with_a_long_list_is_told_every_time_and_beside_what_was_right_before() -> None:
    schema = StructuralSchema(SCHEMA)
    assert schema.validate(many(), None) == schema.validate(many(), None) == []
    wrong = many()
    wrong["items"][3]["name"] = "too long"
    first, second = schema.validate(wrong, None), schema.validate(wrong, None)
    assert [problem.field for problem in first] == [problem.field for problem in second] == ["items[3].name"]


def test_unknown_fields_of_a_long_list_are_found_and_dropped_every_time() -> None:
    schema = StructuralSchema(SCHEMA)
    assert schema.unknown_fields(many()) == []
    for _ in range(2):
        manifest = many(colour="red")
        assert len(schema.unknown_fields(manifest)) == SHORTEST
        schema.prune(manifest)
        assert manifest == many()


def test_defaults_come_into_a_long_list_every_time() -> None:
    schema = StructuralSchema(SCHEMA)
    for _ in range(2):
        manifest = many()
        schema.default(manifest)
        assert manifest == many(size=1)
        schema.default(manifest)
        assert manifest == many(size=1)


def test_a_place_remembers_a_few_lists_and_no_short_one() -> None:
    memory = Memory()
    lists = [[number] * SHORTEST for number in range(MOST + 1)]
    for each in lists:
        memory.keep(memory.text_of(each))
    assert [memory.knows(memory.text_of(each)) for each in lists] == [False] + [True] * MOST
    assert memory.text_of([1]) is None
