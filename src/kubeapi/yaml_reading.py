"""Reading of users' YAML: as Kubernetes reads it, and never into more than it looks like.

An alias costs nothing to write and all that it stands for to read: ten lists, each of ten times the one before, are
ten thousand million. So the size of a document is what it is once its aliases are written out, and that is bounded.
"""

from collections.abc import Iterator
from typing import Any

import yaml

MAX_NODES = 50_000
MAX_CHARACTERS = 4 * 1024 * 1024
MAX_DEPTH = 100
LONGEST_NUMBER = 64


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
    """The safe loader, with timestamps, numbers to the base of sixty, and those of very many digits left as text."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> Any:
        return node.value if _is_text(node.value) else super().construct_yaml_int(node)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> Any:
        return node.value if _is_text(node.value) else super().construct_yaml_float(node)


def _is_text(number: str) -> bool:
    return ":" in number or len(number) > LONGEST_NUMBER


YamlLoader.add_constructor("tag:yaml.org,2002:int", YamlLoader.construct_yaml_int)
YamlLoader.add_constructor("tag:yaml.org,2002:float", YamlLoader.construct_yaml_float)
YamlLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load_documents(text: str | bytes) -> Iterator[Any]:
    """The documents of a stream, one by one. Raises: ValueError when it is not YAML, or breaks a limit."""
    try:
        check_size(text)
        yield from yaml.load_all(text, Loader=YamlLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"not valid YAML: {error}") from error
