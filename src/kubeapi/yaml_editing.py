"""Changes of one place of a YAML text that leave everything else as it is written: comments, quotes, order and spaces.

Not every place can be changed alone, as in a collection that would become empty. Whoever asks reads the result again:
an alias, for one, makes that two places change.
"""

from typing import Any, cast

import yaml

from kubeapi.json_document import list_index
from kubeapi.yaml_reading import YamlLoader, check_size
from kubeapi.yaml_writing import render_inline_yaml, render_sorted_yaml

_BLOCK_SCALARS = ("|", ">")
_NAME = "name"


Item = yaml.Node | tuple[yaml.Node, yaml.Node]
"""An element of a list, or key and value of a field."""


class Unchangeable(ValueError):
    """Signal that a place cannot be changed without the text around it."""


def with_value(text: str, path: list[str], value: Any, *, insert: bool) -> str:
    """The text with the value at a path, in the place of what is there; `insert` puts it before an element of a list,
    or behind the last (`-`). Raises: ValueError."""
    parent, place = _found(text, path, insert=insert)
    if place is not None and not (insert and isinstance(parent, yaml.SequenceNode)):
        return _replaced(text, parent, place, value)
    return _inserted(text, parent, path[-1], len(parent.value) if place is None else place, value)


def without_value(text: str, path: list[str]) -> str:
    """The text without the lines of a field, or of an element. Raises: ValueError."""
    parent, place = _found(text, path, insert=False)
    if place is None or _is_flow(parent) or len(parent.value) == 1:
        raise Unchangeable
    start = _line_start(text, parent, place)
    return text[:start] + text[_line_end(text, parent.value[place]) + 1 :]


def _found(text: str, path: list[str], *, insert: bool) -> tuple[yaml.CollectionNode, int | None]:
    """The collection that a path ends in, and the place in it; None where nothing is."""
    try:
        check_size(text)
        node = YamlLoader(text).get_single_node()
    except yaml.YAMLError:
        raise Unchangeable from None
    for depth, token in enumerate(path):
        if not isinstance(node, yaml.CollectionNode):
            break
        place = _place(node, token, insert=insert and depth == len(path) - 1)
        if depth == len(path) - 1:
            return node, place
        if place is None:
            break
        node = _value(node.value[place])
    raise Unchangeable


def _place(node: yaml.CollectionNode, token: str, *, insert: bool) -> int | None:
    """Index of a field or an element; None where nothing is. Raises: ValueError."""
    if isinstance(node, yaml.MappingNode):
        found = [at for at, (key, _) in enumerate(node.value) if key.value == token]
        if len(found) > 1:
            raise Unchangeable
        return found[0] if found else None
    if insert and token == "-":
        return None
    index = list_index(token, len(node.value) + insert)
    return index if index < len(node.value) else None


def _replaced(text: str, parent: yaml.CollectionNode, place: int, value: Any) -> str:
    item = cast(Item, parent.value[place])
    old = _value(item)
    start, end = old.start_mark.index, _end(text, old)
    is_block = _takes_lines(value) or (isinstance(old, yaml.CollectionNode) and not _is_flow(old))
    if is_block and isinstance(item, tuple) and not _is_flow(parent):
        name_end = item[0].end_mark.index
        if text[name_end:start].strip() == ":":
            return text[:name_end] + ":" + _body(value, item[0].start_mark.column) + text[end:]
    space = " " if start and not text[start - 1].isspace() and text[start - 1] not in "[{" else ""
    return text[:start] + space + render_inline_yaml(value) + text[end:]


def _inserted(text: str, parent: yaml.CollectionNode, name: str, place: int, value: Any) -> str:
    if _is_flow(parent) or not parent.value:
        raise Unchangeable
    if isinstance(parent, yaml.MappingNode):
        column = parent.value[0][0].start_mark.column
        line = f"{' ' * column}{render_inline_yaml(name)}:{_body(value, column)}"
    else:
        line = f"{' ' * parent.start_mark.column}- {render_inline_yaml(value)}"
    if place < len(parent.value):
        start = _line_start(text, parent, place)
        return f"{text[:start]}{line}\n{text[start:]}"
    end = _line_end(text, parent.value[-1])
    return f"{text[:end]}\n{line}{text[end:]}"


def _body(value: Any, column: int) -> str:
    """Value behind the colon of a field that begins in the column."""
    first, *others = render_sorted_yaml({_NAME: value}).removeprefix(f"{_NAME}:").splitlines()
    return first + "".join(f"\n{' ' * column if line else ''}{line}" for line in others)


def _takes_lines(value: Any) -> bool:
    return "\n" in value if isinstance(value, str) else bool(value) and isinstance(value, dict | list)


def _value(item: Item) -> yaml.Node:
    return item[1] if isinstance(item, tuple) else item


def _is_flow(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _line_start(text: str, parent: yaml.CollectionNode, place: int) -> int:
    """Start of the line on which a field, or an element with its dash, begins. Raises: Unchangeable where another
    begins there, too."""
    item = cast(Item, parent.value[place])
    first = (item[0] if isinstance(item, tuple) else item).start_mark.index
    start = text.rfind("\n", 0, first) + 1
    if text[start:first].strip() != ("" if isinstance(item, tuple) else "-"):
        raise Unchangeable
    return start


def _line_end(text: str, item: Item) -> int:
    """End of the line on which a field or an element ends."""
    end = text.find("\n", _end(text, _value(item)))
    return len(text) if end < 0 else end


def _end(text: str, node: yaml.Node) -> int:
    """Index behind the last character of a node, before comments and empty lines."""
    if isinstance(node, yaml.CollectionNode) and not _is_flow(node) and node.value:
        return _end(text, _value(node.value[-1]))
    start, end = node.start_mark.index, node.end_mark.index
    is_block = isinstance(node, yaml.ScalarNode) and node.style in _BLOCK_SCALARS
    return start + len(text[start:end].rstrip()) if is_block else end
