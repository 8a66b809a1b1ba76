"""Paths into a value: names, quoted names, indexes and slices, unions of these, `*`, `..`, filters `[?(@.a=="b")]`."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from kubeapi.diff import is_equal


class JSONPathError(ValueError):
    """The text is no JSONPath that we know, or the value has nothing under it."""


Step = Callable[[Any], Iterable[Any]]
Find = Callable[[Any], list[Any]]

_STEP = re.compile(
    r"(?:(?P<deep>\.\.)|\.)?(?:"
    r"\[\?\((?P<filter>.+?)\)\]"
    r"|\[(?P<keys>(?:'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"|[^\]'\"])*)\]"
    r"|(?P<name>\*|(?:\\.|[^\\.,\[\]$@{}\s\"'])+))"
)
_KEY = re.compile(r"\s*(?:(?P<quote>['\"])(?P<key>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<plain>[^,]*?))\s*(?:,|$)")
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?(?::(\d+)?)?")
_FILTER = re.compile(r"\s*@(?P<left>\S*?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>.+?))?\s*")
_FIRST = slice(0, 1)
"""Meaning of empty brackets in Go's JSONPath: the first item, where there is one."""
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": is_equal,
    "!=": lambda one, other: not is_equal(one, other),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_path(path: str, *, allow_missing: bool = False) -> Find:
    """The values under `path`, in their order. Raises: JSONPathError.

    The function raises LookupError for a key that is missing, unless that is allowed; and for an index out of bounds.
    """
    return _Reader(allow_missing).path(path)


def unquoted(text: str) -> str:
    """Text that stands between two quotes."""
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1])


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes steps of the parts of a path."""

    allow_missing: bool

    def path(self, path: str) -> Find:
        path = path.removeprefix("$").removeprefix("@")
        steps: list[Step] = []
        position = 0 if path != "." else 1
        while position < len(path):
            match = _STEP.match(path, position)
            if match is None:
                raise JSONPathError(f"cannot read the path at {path[position:]!r}")
            step = self._step(match)
            steps.append(_anywhere(step) if match["deep"] else step)
            position = match.end()

        def find(value: Any) -> list[Any]:
            found = [value]
            for step in steps:
                found = [result for item in found for result in step(item)]
            return found

        return find

    def _step(self, match: re.Match[str]) -> Step:
        if match["filter"]:
            return self._filtered(match["filter"])
        if match["name"] is not None:
            return _all if match["name"] == "*" else self._named(_plain(match["name"]))
        if not match["keys"]:
            return _slice(_FIRST)
        return _union([self._bracketed(key) for key in _KEY.finditer(match["keys"]) if key[0]])

    def _bracketed(self, key: re.Match[str]) -> Step:
        if key["quote"]:
            return self._named(_plain(key["key"]))
        plain = key["plain"]
        if plain == "*":
            return _all
        if re.fullmatch(r"-?\d+", plain):
            return _at(int(plain))
        bounds = _SLICE.fullmatch(plain)
        if bounds is None:
            raise JSONPathError(f"[{plain}] is no index; put names in quotes, like ['{plain}']")
        return _slice(slice(*(int(bound) if bound else None for bound in bounds.groups())))

    def _named(self, name: str) -> Step:
        """Lists have no names."""

        def step(value: Any) -> Iterator[Any]:
            found = cast(Mapping[str, Any], value).get(name) if isinstance(value, Mapping) else None
            if found is not None:
                yield found
            elif not self.allow_missing:
                raise LookupError(f"{name} is not found")

        return step

    def _filtered(self, condition: str) -> Step:
        match = _FILTER.fullmatch(condition)
        if match is None:
            raise JSONPathError(f'cannot read the filter {condition!r}; it is like @.type=="Ready"')
        left = self.path(match["left"])
        wanted = _literal(match["right"]) if match["op"] else None
        compare = _OPERATORS[match["op"]] if match["op"] else None

        def holds(item: Any) -> bool:
            try:
                found = left(item)
                return bool(found) and (compare is None or compare(found[0], wanted))
            except (LookupError, TypeError):
                return False

        return lambda value: [item for item in _all(value) if holds(item)]


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _union(steps: list[Step]) -> Step:
    return lambda value: [found for step in steps for found in step(value)]


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


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"'):
        return unquoted(text)
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
