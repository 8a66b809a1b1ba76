"""The JSONPath of printer columns and scale paths: `.a.b`, `['key']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

Find = Callable[[Any], list[Any]]

_STEP = re.compile(
    r"\.?(?:(?P<name>[A-Za-z_][\w-]*(?:\\\.[\w-]+)*)"
    r"|\[(?P<quote>['\"])(?P<key>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\]"
    r"|\[(?P<index>-?\d+)\]|\[?(?P<all>\*)\]?"
    r"|\[\?\(\s*@\.(?P<field>[\w.-]+)\s*(?P<op>==|!=)\s*(?P<value>\"[^\"]*\"|'[^']*'|[\w.-]+)\s*\)\])"
)

Step = Callable[[Any], Iterable[Any]]


def compile_path(path: str) -> Find:
    """A function that finds the values under `path`. Raises: ValueError when it is no path that we know."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"unrecognized JSONPath {path!r} at {text[position:]!r}")
        steps.append(_step_of(match))
        position = match.end()

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [result for item in found for result in step(item)]
        return found

    return find


def _step_of(match: re.Match[str]) -> Step:
    if match["all"]:
        return _all
    if match["index"] is not None:
        return _at(int(match["index"]))
    if match["field"]:
        return _where(match["field"].split("."), match["op"] == "==", match["value"].strip("\"'"))
    key = match["name"] if match["name"] is not None else match["key"]
    return _named(re.sub(r"\\(.)", r"\1", key))


def _named(key: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping) and key in value:
            yield cast(Mapping[str, Any], value)[key]

    return step


def _at(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(cast(list[Any], value)) <= index < len(cast(list[Any], value)):
            yield cast(list[Any], value)[index]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from cast(list[Any], value)
    elif isinstance(value, Mapping):
        yield from cast(Mapping[str, Any], value).values()


def _where(path: list[str], equal: bool, wanted: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for item in _all(value):
            inner: Any = item
            for part in path:
                inner = cast(Mapping[str, Any], inner).get(part) if isinstance(inner, Mapping) else None
            if (_text(inner) == wanted) is equal:
                yield item

    return step


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
