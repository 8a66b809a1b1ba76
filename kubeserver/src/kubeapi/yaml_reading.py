"""Reading of users' YAML: as Kubernetes reads it, and never into more than it looks like.

An alias costs nothing to write and all that it stands for to read: ten lists, each of ten times the one before, are
ten thousand million. So the size of a document is what it is once its aliases are written out, and that is bounded.
"""

import math
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from kubeapi.yaml_scalars import BOOL, FLOAT, INT, NULL, STR, TIMESTAMP, as_json, key_of, resolve

MAX_NODES = 50_000
MAX_CHARACTERS = 4 * 1024 * 1024
MAX_DEPTH = 100
MERGE = "<<"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_BINARY_TAG = "tag:yaml.org,2002:binary"
_KNOWN_TAGS = (BOOL, FLOAT, INT, NULL, TIMESTAMP)
_OTHERWISE = re.compile(
    r"\\(?:u([dD][89abAB][\da-fA-F]{2})(?:\\u([dD][c-fC-F][\da-fA-F]{2}))?|u([dD][c-fC-F][\da-fA-F]{2})|.)"
    "|[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)
"""Parts of texts in JSON that YAML reads otherwise, or not at all; and all other escapes."""


def json_as_yaml(text: str | bytes) -> str | bytes:
    """Text of JSON, as Kubernetes reads it, in the words of YAML and on the same lines; another text as it is."""
    if isinstance(text, bytes):
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return text
    else:
        decoded = text
    if not decoded.lstrip(" \t\r\n").startswith(("{", "[")):
        return text
    changed = _OTHERWISE.sub(_in_yaml, decoded)
    if changed == decoded:
        return text
    try:
        msgspec.json.decode(changed)
    except (ValueError, RecursionError):
        return text
    return changed


def _in_yaml(found: re.Match[str]) -> str:
    high, low, lone = found.groups()
    if high and low:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if high or lone:
        return "\ufffd"
    return found[0] if found[0][0] == "\\" else f"\\u{ord(found[0]):04x}"


def check_size(text: str | bytes) -> None:
    """Looks at a stream before anything of it is made. Raises: ValueError when it breaks a limit, yaml.YAMLError."""
    counted = _Counted()
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        counted.take(event)
        if len(counted.open) > MAX_DEPTH:
            raise ValueError(f"YAML nested deeper than {MAX_DEPTH} levels")
        if counted.nodes > MAX_NODES:
            raise ValueError(f"YAML of more than {MAX_NODES} values, its aliases written out")
        if counted.characters > MAX_CHARACTERS:
            raise ValueError(f"YAML of more than {MAX_CHARACTERS} characters, its aliases written out")


class _Counted:
    """Counts of what was read so far, with aliases written out."""

    def __init__(self) -> None:
        self.nodes = self.characters = 0
        self.open: list[tuple[str | None, int, int]] = []
        """The collections that have not ended: their anchors, and what was read before them."""
        self._sizes: dict[str, tuple[int, int]] = {}

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.AliasEvent():
                self._add(*self._size_of(str(event.anchor)))
            case yaml.ScalarEvent():
                self._add(1, len(event.value))
                self._remember(event.anchor, self.nodes - 1, self.characters - len(event.value))
            case yaml.CollectionStartEvent():
                self.open.append((event.anchor, self.nodes, self.characters))
                self._add(1, 0)
            case yaml.CollectionEndEvent():
                self._remember(*self.open.pop())
            case _:
                pass

    def _size_of(self, anchor: str) -> tuple[int, int]:
        if anchor not in self._sizes:
            raise ValueError(f"the alias {anchor} stands before the end of what it refers to")
        return self._sizes[anchor]

    def _add(self, nodes: int, characters: int) -> None:
        self.nodes += nodes
        self.characters += characters

    def _remember(self, anchor: str | None, nodes: int, characters: int) -> None:
        if anchor is not None:
            self._sizes[anchor] = self.nodes - nodes, self.characters - characters


class YamlLoader(yaml.CSafeLoader):
    """Loader that means by a plain word what Kubernetes means (`yaml_scalars.py`), and gives values of JSON."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        if kind is not yaml.ScalarNode or value == MERGE:
            return str(super().resolve(kind, value, implicit))  # pyright: ignore
        return resolve(value)[0] if implicit[0] else STR

    def construct_document(self, node: yaml.Node) -> Any:
        return _Values().of(node)


class _Values:
    """Values of the nodes of one document; nodes that aliases refer to are made once."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, node: yaml.Node) -> Any:
        """Unknown tags are passed over. Raises: yaml.YAMLError."""
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) not in self._made:
            is_mapping = isinstance(node, yaml.MappingNode)
            self._made[id(node)] = self._mapping(node) if is_mapping else [self.of(item) for item in node.value]
        return self._made[id(node)]

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        return {name: self.of(item) for name, _, item in members_of(node)}


def members_of(node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Names of the fields of a mapping, with the nodes of key and value; of several with one name the last counts.

    What is merged in counts as written where it is merged, as in goyaml v2. Raises: yaml.YAMLError.
    """
    for key, item in node.value:
        if key.tag == _MERGE_TAG:
            for merged in reversed(item.value) if isinstance(item, yaml.SequenceNode) else [item]:
                if not isinstance(merged, yaml.MappingNode):
                    raise _wrong(merged, "map merge requires map or sequence of maps as the value")
                yield from members_of(merged)
        elif isinstance(key, yaml.ScalarNode):
            try:
                yield key_of(_scalar(key, is_key=True)), key, item
            except ValueError as error:
                raise _wrong(key, str(error)) from error
        else:
            raise _wrong(key, "invalid map key: a mapping or a list")


def _scalar(node: yaml.ScalarNode, *, is_key: bool = False) -> Any:
    text, tag = str(node.value), str(node.tag)
    if tag == _BINARY_TAG:
        return _decoded(node)
    if tag not in _KNOWN_TAGS:
        return text
    found, value = resolve(text)
    if found != tag and (found, tag) != (INT, FLOAT):
        raise _wrong(node, f"cannot decode {_short(found)} `{text}` as a {_short(tag)}")
    if isinstance(value, float) and not is_key:
        if not math.isfinite(value):
            raise _wrong(node, f"json: unsupported value: {text}")
        return as_json(value)
    return value


def _decoded(node: yaml.ScalarNode) -> str:
    try:
        return b64decode(str(node.value).replace("\n", "").replace("\r", ""), validate=True).decode(errors="replace")
    except ValueError as error:
        raise _wrong(node, "!!binary value contains invalid base64 data") from error


def _short(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")


def _wrong(node: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def load_documents(text: str | bytes) -> Iterator[Any]:
    """The documents of a stream, one by one. Raises: ValueError when it is not YAML, or breaks a limit."""
    text = json_as_yaml(text)
    try:
        check_size(text)
        yield from yaml.load_all(text, Loader=YamlLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"not valid YAML: {error}") from error
