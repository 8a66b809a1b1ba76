"""Paths into a value: names, quoted names, indexes and slices, unions of these, `*`, `..`, filters `[?(@.a=="b")]`.

Unions, `*` and `..` multiply results, and tenants write paths: each evaluation has a bound.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from kubeapi.diff import is_equal


class JSONPathError(ValueError):
    """The text is no JSONPath that we know, or the value has nothing under it."""


class PathTooLarge(JSONPathError):
    """The path finds more in a value than an evaluation may find or look at."""


MOST_KEYS = 64
"""Keys of one union."""
MOST_RESULTS, MOST_LOOKS = 1_000, 20_000
"""Results of a step, and values that all steps of an evaluation look at."""


class PathEffort:
    """Looks that an evaluation has left."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MOST_LOOKS

    def spend(self) -> None:
        """Counts one look. Raises: PathTooLarge."""
        self._left -= 1
        if self._left < 0:
            raise PathTooLarge(f"it looks at more than {MOST_LOOKS} values; name them more closely")


Step = Callable[[Any, PathEffort], Iterable[Any]]
Find = Callable[[Any], list[Any]]
Search = Callable[[Any, PathEffort], list[Any]]

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
    It raises PathTooLarge when a step finds more than `MOST_RESULTS`, or all look at more than `MOST_LOOKS`.
    """
    search = compile_search(path, allow_missing=allow_missing)
    return lambda value: search(value, PathEffort())


def compile_search(path: str, *, allow_missing: bool = False) -> Search:
    """`compile_path` for evaluations that share an effort."""
    return _Reader(allow_missing).path(path)


def unquoted(text: str) -> str:
    """Text that stands between two quotes."""
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1])


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes steps of the parts of a path."""

    allow_missing: bool

    def path(self, path: str) -> Search:
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

        def search(value: Any, effort: PathEffort) -> list[Any]:
            found = [value]
            for step in steps:
                found = _results(step, found, effort)
            return found

        return search

    def _step(self, match: re.Match[str]) -> Step:
        if match["filter"]:
            return self._filtered(match["filter"])
        if match["name"] is not None:
            return _all if match["name"] == "*" else self._named(_plain(match["name"]))
        if not match["keys"]:
            return _slice(_FIRST)
        keys = [self._bracketed(key) for key in _KEY.finditer(match["keys"]) if key[0]]
        if len(keys) > MOST_KEYS:
            raise JSONPathError(f"brackets with {len(keys)} keys: there may be at most {MOST_KEYS}")
        return _union(keys)

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

        def step(value: Any, _: PathEffort) -> Iterator[Any]:
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

        def holds(item: Any, effort: PathEffort) -> bool:
            effort.spend()
            try:
                found = left(item, effort)
                return bool(found) and (compare is None or compare(found[0], wanted))
            except (LookupError, TypeError):
                return False

        return lambda value, effort: (item for item in _all(value, effort) if holds(item, effort))


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _results(step: Step, items: list[Any], effort: PathEffort) -> list[Any]:
    """Raises: PathTooLarge as soon as there are too many."""
    found: list[Any] = []
    for item in items:
        for result in step(item, effort):
            effort.spend()
            if len(found) == MOST_RESULTS:
                raise PathTooLarge(f"it finds more than {MOST_RESULTS} values; name them more closely")
            found.append(result)
    return found


def _union(steps: list[Step]) -> Step:
    return lambda value, effort: (found for step in steps for found in step(value, effort))


def _at(index: int) -> Step:
    def step(value: Any, _: PathEffort) -> Iterator[Any]:
        items = _items(value)
        if not -len(items) <= index < len(items):
            raise LookupError(f"index {index} is out of bounds: the list has {len(items)} items")
        yield items[index]

    return step


def _slice(bounds: slice) -> Step:
    return lambda value, _: _items(value)[bounds]


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise LookupError("it is no list")
    return cast(list[Any], value)


def _all(value: Any, _: PathEffort) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return cast(Mapping[str, Any], value).values()
    return cast(list[Any], value) if isinstance(value, list) else ()


def _anywhere(step: Step) -> Step:
    """`step` on a value and on all below it, as far as they have what it looks for."""

    def everywhere(value: Any, effort: PathEffort) -> Iterator[Any]:
        effort.spend()
        with suppress(LookupError):
            yield from step(value, effort)
        for item in _all(value, effort):
            yield from everywhere(item, effort)

    return everywhere


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"'):
        return unquoted(text)
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
