"""JSON document that is changed in many steps, at places named by JSON pointers; who gave it keeps it as it was.

Each container is copied once, before its first change, so that a step costs no more than what it changes.
"""

import re
from collections.abc import Iterable
from typing import Any, cast

_CONTAINERS = (dict, list)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


class Document:
    """`root` is the document as it is now. Of what is put in, only what is changed later is copied."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._own: dict[int, Any] = {}
        """The containers that were copied, by identity, which is theirs for as long as they are kept here."""

    def find(self, path: list[str]) -> Any:
        """Value at `path`. Raises: ValueError when there is none."""
        found: Any = self.root
        for depth, token in enumerate(path):
            if type(found) is dict and token in found:
                found = cast(Any, found)[token]
            else:
                found = _child(found, token, path[: depth + 1])
        return found

    def field(self, path: list[str]) -> Any:
        """Value as `find` gives it; null for a field that its object does not have, as in kube-apiserver.
        Raises: ValueError."""
        holder = self.find(path[:-1]) if path else None
        if isinstance(holder, dict):
            return cast(dict[str, Any], holder).get(path[-1])
        return self.find(path)

    def own(self, path: list[str]) -> Any:
        """The container at `path`, to be changed by the caller. Raises: ValueError when none is there."""
        return self._holder([*path, ""])

    def own_item(self, container: Any, place: Any) -> Any:
        """The container at a place of one that is owned, to be changed likewise."""
        owned = container[place] = self._owned(container[place])
        return owned

    def insert(self, path: list[str], value: Any) -> None:
        """Raises: ValueError."""
        if not path:
            self.root = value
            return
        container, token = self._holder(path), path[-1]
        if isinstance(container, list):
            items = cast(list[Any], container)
            items.insert(len(items) if token == "-" else list_index(token, len(items) + 1), value)
        else:
            container[token] = value

    def replace(self, path: list[str], value: Any) -> None:
        """A field that is not there is added, as kube-apiserver does; RFC 6902 would have it refused."""
        if not path:
            self.root = value
            return
        container = self._holder(path)
        container[_place(container, path[-1])] = value

    def remove(self, path: list[str]) -> Any:
        """Gives what was there. Raises: ValueError."""
        if not path:
            raise ValueError("the whole document cannot be removed")
        gone, container = self.find(path), self._holder(path)
        del container[_place(container, path[-1])]
        return gone

    def _holder(self, path: list[str]) -> Any:
        """The container that `path` ends in, to be changed."""
        holder = self.root = self._owned(self.root)
        for depth, token in enumerate(path[:-1]):
            if type(holder) is dict and token in holder:
                child = cast(Any, holder)[token]
            else:
                child = _child(holder, token, path[: depth + 1])
            owned = self._owned(child)
            if owned is not child:
                holder[_place(holder, token)] = owned
            holder = owned
        if type(holder) not in _CONTAINERS:
            raise ValueError("the parent of the path is neither an object nor a list")
        return holder

    def _owned(self, value: Any) -> Any:
        if type(value) not in _CONTAINERS or id(value) in self._own:
            return value
        copied: Any = value.copy()
        self._own[id(copied)] = copied
        return copied


def depth_of(value: Any) -> int:
    """Number of containers within each other; an empty one counts for none."""
    depth, level = 0, [value]
    while level := [child for each in level for child in _children(each)]:
        depth += 1
    return depth


def parse_path(text: str) -> list[str]:
    """The tokens of a path of a JSON patch, as json-patch reads it (v4 in kube-apiserver, v5 in Karmada).

    The text before the first / is passed over, and a ~ that begins no escape stands for itself. Raises: ValueError.
    """
    if not text:
        return []
    if "/" not in text:
        raise ValueError(f"the path {text!r} has no /")
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def parse_pointer(text: str) -> list[str]:
    """The tokens of an RFC 6901 pointer. Raises: ValueError."""
    if text and not text.startswith("/"):
        raise ValueError(f"the pointer {text!r} does not begin with /")
    tokens = text.split("/")[1:]
    for token in tokens:
        if "~" in token.replace("~0", "").replace("~1", ""):
            raise ValueError(f"the pointer {text!r} has a ~ that is neither ~0 nor ~1")
    return parse_path(text)


def _children(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return cast(dict[str, Any], value).values()
        case list():
            return cast(list[Any], value)
        case _:
            return ()


def _child(container: Any, token: str, path: list[str]) -> Any:
    try:
        match container:
            case dict():
                mapping = cast(dict[str, Any], container)
                if token not in mapping:
                    raise ValueError("does not exist")
                return mapping[token]
            case list():
                items = cast(list[Any], container)
                return items[list_index(token, len(items))]
            case _:
                raise ValueError("does not exist: its parent is neither an object nor a list")
    except ValueError as error:
        raise ValueError(f"{_pointer(path)} {error}") from None


def _place(container: Any, token: str) -> Any:
    """The key, or the index of an element that is there. Raises: ValueError."""
    return list_index(token, len(cast(list[Any], container))) if isinstance(container, list) else token


def list_index(token: str, places: int) -> int:
    """Index that a token means among so many places; a negative one counts from the last, as in json-patch.
    Raises: ValueError."""
    if not _NUMBER.fullmatch(token):
        raise ValueError(f"is no index of a list: {token!r}")
    index = int(token) + (places if token.startswith("-") and int(token) else 0)
    if not 0 <= index < places:
        raise ValueError(f"is outside of the list: {token}")
    return index


def _pointer(path: list[str]) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path)
