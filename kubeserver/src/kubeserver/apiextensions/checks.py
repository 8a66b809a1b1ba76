"""Checks of a custom object by its structural schema: every fault, with its path, in Kubernetes' words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from kubeapi import codec
from kubeapi.diff import is_equal, is_one_of
from kubeapi.status import MOST_QUOTED, Problem, quoted
from kubeapi.text import shortened
from kubeserver.apiextensions.formats import has_format, is_known
from kubeserver.apiextensions.node import Node
from kubeserver.apiextensions.numeric import is_whole, number_problems
from kubeserver.apiextensions.old_values import ABSENT, KeyedItems, keyed_items
from kubeserver.apiextensions.patterns import MatchBudget, compile_pattern
from kubeserver.values import texts

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_whole,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_GO_FORMATS = {"integer": "int64", "number": "float64"}
_OF_EVERY_RESOURCE = ("apiVersion", "kind")
"""Fields that `embedded.py` misses in an embedded resource, whether its schema requires them or not."""
_TOO_MUCH_MATCHING = (
    "Too long: up to here, the texts of the object are too long to be compared with the patterns of its definition: "
    "make them shorter, or give the definition patterns with fewer repetitions"
)
NOWHERE = "<nil>"
"""Path of what is wrong with an object as a whole."""


def check(node: Node, value: Any, old: Any = ABSENT) -> list[Problem]:
    """All problems. What is as it was in `old` is let be: a schema may have become narrower since."""
    budget = MatchBudget()
    problems = list(_check(node, value, "", budget, old))
    if budget.spent_at is not None:
        problems.append(Problem(budget.spent_at, "FieldValueTooLong", _TOO_MUCH_MATCHING))
    return problems


def below(path: str, problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a part of an object, which is under `path`; their texts tell of the part alone."""
    return [Problem(_child(path, p.field) if p.field else path or NOWHERE, p.kind, p.message) for p in problems]


def _check(node: Node, value: Any, path: str, budget: MatchBudget, old: Any = ABSENT) -> Iterator[Problem]:
    raw = node.raw
    if (value is None and raw.get("nullable")) or (old is not ABSENT and is_equal(value, old)):
        return
    wrong_type = _type_problem(raw, value, path)
    if wrong_type is not None:
        yield wrong_type
    if "enum" in raw:
        yield from _enum(raw, value, path)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from number_problems(raw, value, path)
    if wrong_type is not None:
        return
    match value:
        case str():
            yield from _string(raw, value, path, budget)
        case list():
            yield from _array(node, cast(list[Any], value), path, budget, old)
        case dict():
            yield from _object(node, cast(dict[str, Any], value), path, budget, old)
        case _:
            pass
    if node.any_of or node.one_of or node.all_of or node.negated is not None:
        yield from _combinations(node, value, path, budget)


def _type_problem(raw: Mapping[str, Any], value: Any, path: str) -> Problem | None:
    if raw.get("x-kubernetes-int-or-string"):
        if is_whole(value) or isinstance(value, str):
            return None
        return _mistyped(path, value, "integer,string")
    wanted = raw.get("type", "")
    if not wanted or _TYPES[wanted](value):
        return None
    form = raw.get("format", "")
    if (wanted == "integer" and form in ("int32", "int64")) or (wanted == "string" and is_known(form)):
        if isinstance(value, list):
            return None if wanted == "string" else _mistyped(path, value, wanted)
        if not isinstance(value, str | None):
            return _mistyped(path, value, form, _GO_FORMATS.get(json_type(value), ""))
    return _mistyped(path, value, wanted)


def _mistyped(path: str, value: Any, wanted: str, got: str | None = None) -> Problem:
    got = json_type(value) if got is None else got
    said = f'Invalid value: "{got}": {_in_body(path)} must be of type {wanted}: "{got}"'
    return Problem(path, "FieldValueTypeInvalid", said)


def json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() if is_whole(value):
            return "integer"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _enum(raw: Mapping[str, Any], value: Any, path: str) -> Iterator[Problem]:
    allowed = cast(Sequence[Any], raw.get("enum") or ())
    if allowed and not is_one_of(value, allowed):
        yield Problem.not_supported(
            path, value, [choice if isinstance(choice, str) else codec.encode(choice).decode() for choice in allowed]
        )


def _string(raw: Mapping[str, Any], value: str, path: str, budget: MatchBudget) -> Iterator[Problem]:
    longest, shortest, pattern = raw.get("maxLength"), raw.get("minLength"), raw.get("pattern")
    if longest is not None and len(value) > longest:
        yield Problem(path, "FieldValueTooLong", f"Too long: may not be more than {longest} bytes")
        return
    if shortest is not None and len(value) < shortest:
        yield Problem.invalid(path, value, f"{_in_body(path)} should be at least {shortest} chars long")
    try:
        if pattern and budget.charge(pattern, value, path) and not compile_pattern(pattern).matches(value):
            yield Problem.invalid(path, value, f"{_in_body(path)} should match '{pattern}'")
    except ValueError as error:
        yield Problem.invalid(path, value, f"{_in_body(path)} should match '{pattern}', which is none: it {error}")
    if raw.get("format") and not has_format(value, raw["format"]):
        told = shortened(value, MOST_QUOTED)
        said = f'Invalid value: "{told}": {_in_body(path)} must be of type {raw["format"]}: "{told}"'
        yield Problem(path, "FieldValueTypeInvalid", said)


def _array(node: Node, value: list[Any], path: str, budget: MatchBudget, old: Any) -> Iterator[Problem]:
    most, least = node.raw.get("maxItems"), node.raw.get("minItems")
    if most is not None and len(value) > most:
        yield Problem(path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items")
    if least is not None and len(value) < least:
        yield Problem.invalid(path, len(value), f"{_in_body(path)} should have at least {least} items")
    yield from _duplicates(node.raw, value, path)
    text = node.sound.text_of(value)
    if node.items is None or node.sound.knows(text):
        return
    found = False
    for problem in _items(node.items, value, path, budget, keyed_items(node, old)):
        found = True
        yield problem
    if not found and budget.spent_at is None:
        node.sound.keep(text)


def _items(node: Node, value: list[Any], path: str, budget: MatchBudget, olds: KeyedItems) -> Iterator[Problem]:
    for index, item in enumerate(value):
        if type(item) is not node.plain or not _is_within(node, item):
            yield from _check(node, item, f"{path}[{index}]", budget, olds.like(item))


def _is_within(node: Node, value: Any) -> bool:
    """Tells whether a value of the plain type of its place is right, which only an integer may not be."""
    return node.plain is not int or -node.most <= value <= node.most


def _duplicates(raw: Mapping[str, Any], value: list[Any], path: str) -> Iterator[Problem]:
    """Items of sets, and keys of lists that are maps, occur once."""
    if not (raw.get("x-kubernetes-list-type") in ("set", "map") or raw.get("uniqueItems")):
        return
    keys = texts(raw, "x-kubernetes-list-map-keys")
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        text = codec.encode(_identity(item, keys))
        if text in seen:
            yield Problem(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {text.decode()}")
        seen.add(text)


def _identity(item: Any, keys: Sequence[str]) -> Any:
    if not keys or not isinstance(item, dict):
        return item
    fields = cast(dict[str, Any], item)
    return {key: fields[key] for key in keys if key in fields}


def _object(node: Node, value: dict[str, Any], path: str, budget: MatchBudget, old: Any) -> Iterator[Problem]:
    raw, before = node.raw, cast(dict[str, Any], old) if isinstance(old, dict) else {}
    for name in raw.get("required") or ():
        if name not in value and not (node.embedded and name in _OF_EVERY_RESOURCE):
            yield Problem.required(_child(path, name))
    most, least = raw.get("maxProperties"), raw.get("minProperties")
    if most is not None and len(value) > most:
        yield Problem(path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items")
    if least is not None and len(value) < least:
        yield Problem.invalid(path, len(value), f"{_in_body(path)} should have at least {least} properties")
    for name, item in value.items():
        child = node.properties.get(name) or node.additional
        if child is not None and (type(item) is not child.plain or not _is_within(child, item)):
            yield from _check(child, item, _child(path, name), budget, before.get(name, ABSENT))


def _combinations(node: Node, value: Any, path: str, budget: MatchBudget) -> Iterator[Problem]:
    """`allOf`, `anyOf`, `oneOf`, `not`: structural schemas use them for limits only."""
    named = quoted(path)
    if node.any_of:
        found = [list(_check(part, value, path, budget)) for part in node.any_of]
        if all(found):
            yield _as_a_whole(f"{named} must validate at least one schema (anyOf)")
            yield from found[0]
    if node.one_of:
        found = [list(_check(part, value, path, budget)) for part in node.one_of]
        fitting = sum(not problems for problems in found)
        if fitting != 1:
            alternatives = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            yield _as_a_whole(f"{named} must validate one and only one schema (oneOf). {alternatives}")
            yield from found[0] if not fitting else ()
    if node.all_of:
        found = [list(_check(part, value, path, budget)) for part in node.all_of]
        for problems in found:
            yield from problems
        if any(found):
            yield _as_a_whole(f"{named} must validate all the schemas (allOf){'. None validated' * all(found)}")
    if node.negated is not None and not list(_check(node.negated, value, path, budget)):
        yield _as_a_whole(f"{named} must not validate the schema (not)")


def _as_a_whole(said: str) -> Problem:
    return Problem.invalid("", "", said)


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _in_body(path: str) -> str:
    return f"{path} in body"
