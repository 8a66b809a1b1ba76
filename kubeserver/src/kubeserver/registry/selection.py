"""Selection of the objects that a list or watch is about: label and field selectors, tested on stored bytes.

Only as much is decoded as the selectors ask for: nothing without selectors, the metadata for labels and names, the
whole object for fields of its spec or status.
"""

import re
from dataclasses import dataclass

import msgspec

from kubeapi import codec, selectors
from kubeapi.status import quoted
from kubeserver.errors import bad_request
from kubeserver.kinds.kind import Kind
from kubeserver.registry.labels import parse_labels

_OPERATOR = re.compile("!=|==|=")
_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"


class _Meta(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct, gc=False):
    metadata: _Meta


_decode_head = msgspec.json.Decoder(_Head).decode


@dataclass(frozen=True, slots=True)
class FieldTest:
    field: str
    value: str
    equal: bool

    def holds(self, value: str) -> bool:
        return (value == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selection:
    """All tests must hold."""

    kind: Kind
    labels: selectors.Selector = ()
    meta_fields: tuple[FieldTest, ...] = ()
    body_fields: tuple[FieldTest, ...] = ()

    @property
    def everything(self) -> bool:
        return not (self.labels or self.meta_fields or self.body_fields)

    @property
    def only_name(self) -> str:
        """The one name that can match, if the selectors say so."""
        return next((test.value for test in self.meta_fields if test.field == _NAME and test.equal), "")

    def matches(self, value: bytes) -> bool:
        if self.everything:
            return True
        meta = _decode_head(value).metadata
        if self.labels and not selectors.matches(self.labels, meta.labels or {}):
            return False
        if not all(test.holds(meta.name if test.field == _NAME else meta.namespace) for test in self.meta_fields):
            return False
        return not self.body_fields or self._body_matches(value)

    def _body_matches(self, value: bytes) -> bool:
        manifest = codec.decode_manifest(value)
        return all(test.holds(self.kind.fields[test.field](manifest)) for test in self.body_fields)


def parse_selection(kind: Kind, label_selector: str, field_selector: str) -> Selection:
    """Raises: Refused (400)."""
    try:
        labels = parse_labels(label_selector)
    except ValueError as error:
        raise bad_request(str(error)) from error
    tests = _parse_fields(field_selector)
    for test in tests:
        _check_field(kind, test.field)
    meta = tuple(test for test in tests if test.field in (_NAME, _NAMESPACE))
    body = tuple(test for test in tests if test.field not in (_NAME, _NAMESPACE))
    return Selection(kind, labels, meta, body)


def _check_field(kind: Kind, field: str) -> None:
    if field in (_NAME, _NAMESPACE) or field in kind.fields:
        return
    if kind.custom or kind.fields:
        raise bad_request(f"field label not supported: {field}")
    raise bad_request(f'{quoted(field)} is not a known field selector: only "{_NAME}", "{_NAMESPACE}"')


def _parse_fields(text: str) -> tuple[FieldTest, ...]:
    return tuple(_parse_test(text, part) for part in _split(text, ",") if part)


def _parse_test(text: str, part: str) -> FieldTest:
    found = _OPERATOR.search(part)
    if found is not None:
        return FieldTest(part[: found.start()], _unescape(part[found.end() :]), found[0] != "!=")
    raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")


def _split(text: str, separator: str) -> list[str]:
    """Splits at separators that no backslash escapes."""
    parts, current, escaped = list[str](), "", False
    for character in text:
        if character == separator and not escaped:
            parts.append(current)
            current = ""
            continue
        escaped = character == "\\" and not escaped
        current += character
    return [*parts, current]


def _unescape(value: str) -> str:
    result, position = "", 0
    while position < len(value):
        if value[position] == "\\":
            position += 1
            if position == len(value) or value[position] not in "\\,=":
                raise bad_request(f"invalid field selector: invalid escape sequence: {value[position - 1 :]}")
        elif value[position] in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(value[position])}")
        result += value[position]
        position += 1
    return result
