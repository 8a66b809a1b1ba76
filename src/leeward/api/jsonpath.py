"""kubectl's JSONPath: text with actions in braces, `{.status.jobs[0]['job-id']}`.

What stands outside braces is text and stays as it is. A path has names, quoted names, indexes and slices, unions of
these, `*`, `..`, and filters `[?(@.a=="b")]`. What an action finds is printed with blanks between; what is missing is
an error, and never an empty string. Lists and mappings are printed as JSON.

Kubernetes: client-go/util/jsonpath; same, without `range` and without its other output modes.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from leeward.api.codec import encode


class JSONPathError(ValueError):
    """The text is no JSONPath that we know, or the value has nothing under it."""


Step = Callable[[Any], Iterable[Any]]
Render = Callable[[Any], str]

_ACTION = re.compile(r"\{(?P<action>(?:\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|[^{}\"'])*)\}|(?P<text>[^{]+)")
_STEP = re.compile(
    r"(?:(?P<deep>\.\.)|\.)?(?:"
    r"\[\?\((?P<filter>.+?)\)\]"
    r"|\[(?P<keys>(?:'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"|[^\]'\"])+)\]"
    r"|(?P<name>\*|[\w-]+(?:\\\.[\w-]+)*))"
)
_KEY = re.compile(r"\s*(?:(?P<quote>['\"])(?P<key>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<plain>[^,]*?))\s*(?:,|$)")
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?(?::(\d+)?)?")
_FILTER = re.compile(r"\s*@(?P<left>\S*?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>.+?))?\s*")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_template(template: str) -> Render:
    """A function that prints what `template` finds. Raises: JSONPathError; so does the function."""
    parts: list[Render] = []
    position = 0
    while position < len(template):
        match = _ACTION.match(template, position)
        if match is None:
            raise JSONPathError(
                f"{template!r}: the brace at {template[position:]!r} opens an action that is not closed"
            )
        action = match["action"]
        parts.append(_text(match["text"]) if action is None else _action(action.strip(), template))
        position = match.end()
    return lambda value: "".join(part(value) for part in parts)


def _text(text: str) -> Render:
    return lambda _: text


def _action(action: str, template: str) -> Render:
    if re.match(r"(range|end)\b", action):
        raise JSONPathError(
            f"{template!r}: range is not supported; name the values with a path, like {{.items[*].name}}"
        )
    if action[:1] in ("'", '"'):
        return _text(_unquoted(action))
    find = _compile_path(action, template)

    def render(value: Any) -> str:
        try:
            return " ".join(map(_printed, find(value)))
        except LookupError as error:
            raise JSONPathError(f"{template!r}: {error.args[0]}") from None

    return render


def _compile_path(path: str, template: str) -> Callable[[Any], list[Any]]:
    """The found values; the function raises LookupError for what is missing."""
    path = path.removeprefix("$").removeprefix("@")
    steps: list[Step] = []
    position = 0 if path != "." else 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise JSONPathError(f"{template!r}: cannot read the path at {path[position:]!r}")
        step = _step(match, template)
        steps.append(_anywhere(step) if match["deep"] else step)
        position = match.end()

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [result for item in found for result in step(item)]
        return found

    return find


def _step(match: re.Match[str], template: str) -> Step:
    if match["filter"]:
        return _filtered(match["filter"], template)
    if match["name"] is not None:
        return _all if match["name"] == "*" else _named(re.sub(r"\\(.)", r"\1", match["name"]))
    return _union([_bracketed(key, template) for key in _KEY.finditer(match["keys"]) if key[0]])


def _bracketed(key: re.Match[str], template: str) -> Step:
    if key["quote"]:
        return _named(re.sub(r"\\(.)", r"\1", key["key"]))
    plain = key["plain"]
    if plain == "*":
        return _all
    if re.fullmatch(r"-?\d+", plain):
        return _at(int(plain))
    bounds = _SLICE.fullmatch(plain)
    if bounds is None:
        raise JSONPathError(f"{template!r}: [{plain}] is no index; put names in quotes, like ['{plain}']")
    return _slice(slice(*(int(bound) if bound else None for bound in bounds.groups())))


def _union(steps: list[Step]) -> Step:
    return lambda value: [found for step in steps for found in step(value)]


def _named(name: str) -> Step:
    """Lists have no names, and what has nothing under the name is an error: kubectl's way with a missing key."""

    def step(value: Any) -> Iterator[Any]:
        found = cast(Mapping[str, Any], value).get(name) if isinstance(value, Mapping) else None
        if found is None:
            raise LookupError(f"{name} is not found")
        yield found

    return step


def _at(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        items = _items(value)
        if not -len(items) <= index < len(items):
            raise LookupError(f"index {index} is out of bounds: the list has {len(items)} items")
        yield items[index]

    return step


def _slice(bounds: slice) -> Step:
    return lambda value: _items(value)[bounds]


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise LookupError("it is no list")
    return cast(list[Any], value)


def _all(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return cast(Mapping[str, Any], value).values()
    return cast(list[Any], value) if isinstance(value, list) else ()


def _anywhere(step: Step) -> Step:
    """`step` on a value and on all below it, as far as they have what it looks for."""

    def everywhere(value: Any) -> Iterator[Any]:
        with suppress(LookupError):
            yield from step(value)
        for item in _all(value):
            yield from everywhere(item)

    return everywhere


def _filtered(condition: str, template: str) -> Step:
    match = _FILTER.fullmatch(condition)
    if match is None:
        raise JSONPathError(f'{template!r}: cannot read the filter {condition!r}; it is like @.type=="Ready"')
    left = _compile_path(match["left"], template)
    wanted = _literal(match["right"]) if match["op"] else None
    compare = _OPERATORS[match["op"]] if match["op"] else None

    def holds(item: Any) -> bool:
        try:
            found = left(item)
            return bool(found) and (compare is None or compare(found[0], wanted))
        except (LookupError, TypeError):
            return False

    return lambda value: [item for item in _all(value) if holds(item)]


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"'):
        return _unquoted(text)
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def _unquoted(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1])


def _printed(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()
