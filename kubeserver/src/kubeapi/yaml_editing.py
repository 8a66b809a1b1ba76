"""Changes of a YAML text that leave everything else as it is written: comments, quotes, order and spaces.

The text is read once, whatever the number of changes. A collection that cannot be changed in parts, as one that would
become empty, is written anew as a whole. Whoever asks reads the result again: an alias, for one, makes that two places
change.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import yaml

from kubeapi.codec import canonical
from kubeapi.diff import is_equal
from kubeapi.yaml_reading import YamlLoader, check_size
from kubeapi.yaml_writing import render_inline_yaml, render_sorted_yaml

_BLOCK_SCALARS = ("|", ">")
_NAME = "name"

T = TypeVar("T")
Paused = Generator[None, None, T]
"""A result that is found with a pause after each change."""
Item = yaml.Node | tuple[yaml.Node, yaml.Node]
"""An element of a list, or key and value of a field."""
Splice = tuple[int, int, str]
"""Start and end of a part that is written anew, and the new text."""
Kept = tuple[int, Any, Any]
"""Place of an item that stays, and its value before and after."""


class Unchangeable(ValueError):
    """Signal that a place cannot be changed without the text around it."""


def edited(text: str, before: Any, after: Any) -> Paused[str]:
    """The text of one document that says `before`, made to say `after`. Raises: ValueError."""
    try:
        check_size(text)
        node = YamlLoader(text).get_single_node()
    except yaml.YAMLError:
        node = None
    if node is None:
        raise Unchangeable
    yield
    splices = yield from _splices(text, node, before, after)
    parts, at = list[str](), 0
    for start, end, part in sorted(splices, key=lambda each: each[:2]):
        if start < at:
            raise Unchangeable
        parts += text[at:start], part
        at = end
    return "".join((*parts, text[at:]))


def _splices(text: str, node: yaml.Node, before: Any, after: Any) -> Paused[list[Splice]]:
    """Changes within a collection, those of inner ones first. Raises: Unchangeable."""
    if isinstance(node, yaml.MappingNode) and isinstance(before, dict) and isinstance(after, dict):
        kept, gone, new = _fields(node, cast(dict[str, Any], before), cast(dict[str, Any], after))
    elif isinstance(node, yaml.SequenceNode) and isinstance(before, list) and isinstance(after, list):
        kept, gone, new = _elements(node, cast(list[Any], before), cast(list[Any], after))
    else:
        raise Unchangeable
    if (gone or new) and (_is_flow(node) or not kept):
        raise Unchangeable
    found = list[Splice]()
    for place, old, wanted in kept:
        found += yield from _of_item(text, node, place, old, wanted)
    for place in gone:
        found.append(_removed(text, node, place, first=place < kept[0][0]))
        yield
    for place, name, value in new:
        found.append(_inserted(text, node, kept[-1][0], place, name, value))
        yield
    return found


Added = tuple[int | None, str, Any]
"""Place of the item that a new one goes before (none for the last), its name in a mapping, and its value."""
Parts = tuple[Sequence[Kept], Sequence[int], Sequence[Added]]
"""Items of a collection that stay, the places of those that go, and those that are new."""


def _fields(node: yaml.MappingNode, before: Mapping[str, Any], after: Mapping[str, Any]) -> Parts:
    """Raises: Unchangeable when a field that changes is not written here, or twice."""
    names = [str(key.value) for key, _ in node.value]
    places = {name: place for place, name in enumerate(names)}
    changed = [name for name in before if name not in after or not is_equal(before[name], after[name])]
    if any(name not in places for name in changed) or (changed and len(places) < len(names)):
        raise Unchangeable
    gone = [places[name] for name in changed if name not in after]
    kept = [(place, before[name], after[name]) for name, place in places.items() if name in before and name in after]
    return kept, gone, [(None, name, value) for name, value in after.items() if name not in before]


def _elements(node: yaml.SequenceNode, before: Sequence[Any], after: Sequence[Any]) -> Parts:
    if len(before) != len(node.value):
        raise Unchangeable
    kept, gone, new = list[Kept](), list[int](), list[Added]()
    at = old = 0
    for same_old, same_new in (*_same(before, after), (len(before), len(after))):
        while old < same_old and at < same_new:
            kept.append((old, before[old], after[at]))
            old, at = old + 1, at + 1
        gone += range(old, same_old)
        new += ((same_old if same_old < len(before) else None, "", value) for value in after[at:same_new])
        if same_old < len(before):
            kept.append((same_old, before[same_old], after[same_new]))
        old, at = same_old + 1, same_new + 1
    return kept, gone, new


def _same(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Places of elements that are in both lists, in order; of those in the middle, where the lists differ in length."""
    shorter = min(len(before), len(after))
    first = next((at for at in range(shorter) if not is_equal(before[at], after[at])), shorter)
    most = shorter - first
    last = next((at for at in range(most) if not is_equal(before[-1 - at], after[-1 - at])), most)
    yield from zip(range(first), range(first), strict=True)
    places = dict[bytes, list[int]]()
    if len(before) != len(after):
        for old in reversed(range(first, len(before) - last)):
            places.setdefault(canonical(before[old]), []).append(old)
    least = first
    for new in range(first, len(after) - last):
        found = places.get(canonical(after[new]), []) if places else []
        while found and found[-1] < least:
            found.pop()
        if found:
            yield (least := found.pop()), new
            least += 1
    yield from zip(range(len(before) - last, len(before)), range(len(after) - last, len(after)), strict=True)


def _of_item(text: str, parent: yaml.CollectionNode, place: int, before: Any, after: Any) -> Paused[list[Splice]]:
    """Changes of one value: within it where that can be, or else of all of it."""
    if is_equal(before, after):
        return []
    yield
    try:
        return (yield from _splices(text, _value(parent.value[place]), before, after))
    except Unchangeable:
        return [_replaced(text, parent, place, after)]


def _removed(text: str, parent: yaml.CollectionNode, place: int, *, first: bool) -> Splice:
    """Removal of the lines of an item. The end of the line before goes with it, and that of its own when it is among
    the `first`. Raises: Unchangeable."""
    start, end = _line_start(text, parent, place), _line_end(text, parent.value[place])
    return (start, end + 1, "") if first else (start - 1, end, "")


def _replaced(text: str, parent: yaml.CollectionNode, place: int, value: Any) -> Splice:
    item = cast(Item, parent.value[place])
    old = _value(item)
    start, end = old.start_mark.index, _end(text, old)
    is_block = _takes_lines(value) or (isinstance(old, yaml.CollectionNode) and not _is_flow(old))
    if is_block and isinstance(item, tuple) and not _is_flow(parent):
        name_end = item[0].end_mark.index
        if text[name_end:start].strip() == ":":
            first, *others = _body(value, item[0].start_mark.column).split("\n")
            line_end = _line_end(text, item)
            return name_end, line_end, "\n".join((f":{first}{text[end:line_end]}", *others))
    space = " " if start and not text[start - 1].isspace() and text[start - 1] not in "[{" else ""
    return start, end, space + render_inline_yaml(value)


def _inserted(text: str, parent: yaml.CollectionNode, last: int, place: int | None, name: str, value: Any) -> Splice:
    """A new item on a line of its own: before the one at `place`, or behind the `last`. Raises: Unchangeable."""
    if isinstance(parent, yaml.MappingNode):
        column = parent.value[0][0].start_mark.column
        line = f"{' ' * column}{render_inline_yaml(name)}:{_body(value, column)}"
    else:
        line = f"{' ' * parent.start_mark.column}- {render_inline_yaml(value)}"
    if place is not None:
        start = _line_start(text, parent, place)
        return start, start, f"{line}\n"
    end = _line_end(text, parent.value[last])
    return end, end, f"\n{line}"


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
