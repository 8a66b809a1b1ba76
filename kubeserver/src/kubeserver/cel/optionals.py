"""Optional values in CEL: they stay in the library, which cannot hand one to a function or a caller in Python.

The types of a checked expression tell where an optional value is. It may be asked, and it may be in a list or a map
that has its type:

    self.?a.orValue([]).sum()               [self.?a, self.?b].exists(o, o.hasValue())

One that reaches a function of ours is refused, and so is one whose type is lost, as in `dyn(self.?a)`. Values from
outside hold none. Where no function of ours is called, and the result is a scalar, the rest is the library's.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from kubeapi.protobuf_wire import Raw, fields, integer_of, message_of

_SCALARS = (2, 3, 4, 11)
_LIST, _MAP, _ABSTRACT = 6, 7, 14
_SELECT, _CALL, _ELEMENTS, _ENTRIES, _COMPREHENSION = 5, 6, 7, 8, 9
"""Fields of `cel.expr.Type` and `cel.expr.Expr`."""
_CHECKED = b"type.googleapis.com/cel.expr.CheckedExpr"
_OPTIONAL = b"optional_type"
_UNWRAPPING = (b"value", b"orValue")
_LOOKED_UP, _CHOSEN = b"_[?_]", b"_?_:_"
_OF_OPTIONAL = (b"_[_]", b"or", b"_?._")
"""Functions that give an optional value for one."""
LOST = "an optional value cannot be part of a value of another type: write .orValue(...) or .value()"
NESTED = "an optional value cannot hold another one: write .orValue(...) or .value()"


def misplaced_optional(checked: bytes, own: Collection[str]) -> str | None:
    """Fault of a checked expression, as the library writes it; None where no optional value can reach Python.

    `own`: the names of the functions that are written in Python. Raises: ValueError where the bytes are no checked
    expression.
    """
    wrapped = _Message(checked)
    if wrapped.message(1) != _CHECKED:
        raise ValueError(f"the CEL library wrote {wrapped.message(1)!r}, not a checked expression")
    known = _Message(wrapped.message(2))
    types = {entry.integer(1): _type(entry.message(2)) for entry in map(_Message, known.all(3))}
    if _LOOKED_UP not in checked and not any(each.optionals for each in types.values()):
        return None
    nodes = _nodes(known.message(4), types)
    seen = _seen_types(nodes)
    if seen[0].is_scalar and not any(node.function.decode() in own for node in nodes):
        return None
    if seen[0].optionals and not seen[0].is_optional:
        return LOST
    faults = (_fault(node, of, [seen[part] for part in node.parts], own) for node, of in zip(nodes, seen, strict=True))
    return next(filter(None, faults), None)


class _Message:
    """The fields of a message, by number."""

    def __init__(self, encoded: bytes) -> None:
        self._fields = list(fields(encoded))

    def all(self, *numbers: int) -> list[bytes]:
        return [message_of(raw) for number, raw in self._fields if number in numbers]

    def message(self, number: int) -> bytes:
        return next(iter(self.all(number)), b"")

    def integer(self, number: int) -> int:
        return next((integer_of(raw) for each, raw in self._fields if each == number), 0)

    def content(self) -> tuple[int, Raw]:
        """Number and value of the last field: the kind of a type, or of an expression."""
        return self._fields[-1] if self._fields else (0, b"")


class _Type(NamedTuple):
    """`optionals`: the number of optional types in it. `is_hidden`: the library takes it for any value."""

    is_scalar: bool = False
    is_optional: bool = False
    optionals: int = 0
    is_hidden: bool = False


_ANY = _Type()
_HIDDEN = _Type(is_optional=True, optionals=1, is_hidden=True)


def _type(encoded: bytes) -> _Type:
    kind, raw = _Message(encoded).content()
    inner = {_LIST: (1,), _MAP: (1, 2), _ABSTRACT: (2,)}.get(kind, ())
    content = _Message(message_of(raw)) if inner else _Message(b"")
    is_optional = kind == _ABSTRACT and content.message(1) == _OPTIONAL
    optionals = sum(_type(each).optionals for each in content.all(*inner))
    return _Type(kind in _SCALARS, is_optional, optionals + is_optional)


class _Use(Enum):
    """Use of a part: its value becomes part of the whole, or the members of its value do, or neither.

    A comprehension begins with a value, and the step's becomes part of that one."""

    HELD = auto()
    UNWRAPPED = auto()
    ASKED = auto()
    BEGINNING = auto()
    STEP = auto()


class _Node(NamedTuple):
    """An expression: its type, the function that it calls, and its parts by their place, with their uses."""

    type: _Type
    kind: int
    function: bytes
    parts: Sequence[int]
    uses: Sequence[_Use]


def _nodes(root: bytes, types: Mapping[int, _Type]) -> list[_Node]:
    """The nodes of an expression, each before its parts."""
    found: list[_Node] = []
    waiting = [root]
    for encoded in waiting:
        expression = _Message(encoded)
        kind, raw = expression.content()
        content = _Message(message_of(raw))
        parts = list(_parts(kind, content))
        places = range(len(waiting), len(waiting) + len(parts))
        function = content.message(2) if kind == _CALL else b""
        found.append(_Node(types.get(expression.integer(2), _ANY), kind, function, places, [use for use, _ in parts]))
        waiting += [part for _, part in parts]
    return found


def _parts(kind: int, content: _Message) -> Iterator[tuple[_Use, bytes]]:
    if kind == _SELECT:
        yield from ((_Use.HELD, part) for part in content.all(1))
    elif kind == _CALL:
        use = _Use.UNWRAPPED if content.message(2) in _UNWRAPPING else _Use.HELD
        yield from ((use, part) for part in content.all(1))
        yield from ((_Use.HELD, part) for part in content.all(3))
    elif kind == _ELEMENTS:
        optional = content.message(2)
        for place, part in enumerate(content.all(1)):
            yield _Use.UNWRAPPED if place in optional else _Use.HELD, part
    elif kind == _ENTRIES:
        for entry in map(_Message, content.all(2)):
            yield from ((_Use.HELD, part) for part in entry.all(3))
            yield from ((_Use.UNWRAPPED if entry.integer(5) else _Use.HELD, part) for part in entry.all(4))
    elif kind == _COMPREHENSION:
        for number, use in ((2, _Use.ASKED), (4, _Use.BEGINNING), (5, _Use.ASKED), (6, _Use.STEP), (7, _Use.HELD)):
            yield from ((use, part) for part in content.all(number))


def _seen_types(nodes: Sequence[_Node]) -> list[_Type]:
    """Types of the nodes, with the optional ones that the library takes for any value."""
    seen = [node.type for node in nodes]
    for place in reversed(range(len(nodes))):
        node = nodes[place]
        if not (node.type.optionals or node.type.is_scalar) and _is_hidden(node, [seen[part] for part in node.parts]):
            seen[place] = _HIDDEN
    return seen


def _is_hidden(node: _Node, parts: Sequence[_Type]) -> bool:
    match node.kind, node.function:
        case _, function if function == _LOOKED_UP:
            return True
        case _, function if function == _CHOSEN:
            return all(part.is_optional for part in parts[1:])
        case kind, function if kind == _SELECT or function in _OF_OPTIONAL:
            return parts[0].is_optional
        case kind, _:
            return kind == _COMPREHENSION and parts[-1].is_optional


def _fault(node: _Node, seen: _Type, parts: Sequence[_Type], own: Collection[str]) -> str | None:
    if (name := node.function.decode()) in own and any(part.optionals for part in parts):
        return f"found no matching overload for '{name}' applied to an optional value"
    if any(part.optionals > 1 for part in (seen, *parts)):
        return NESTED
    begins = [part for use, part in zip(node.uses, parts, strict=True) if use is _Use.BEGINNING]
    for use, part in zip(node.uses, parts, strict=True):
        if part.optionals and not _is_kept(node, seen, use, part, begins):
            return LOST
    return None


def _is_kept(node: _Node, seen: _Type, use: _Use, part: _Type, begins: Sequence[_Type]) -> bool:
    """Tells whether the types say of the value of an optional part where it is then."""
    if use is _Use.UNWRAPPED or (seen.is_scalar and use is _Use.HELD):
        return True
    if part.is_hidden:
        return use is _Use.HELD and (seen.is_hidden or node.function in _OF_OPTIONAL)
    if use is _Use.STEP:
        return any(each.optionals for each in begins)
    return use is not _Use.HELD or bool(seen.optionals)
