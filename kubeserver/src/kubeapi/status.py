"""`metav1.Status`: how the API says no, with the field that is wrong.

`Problem` is one finding of a validation; `invalid` turns several into the answer that kubectl prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeapi.meta import Object
from kubeapi.text import shortened

MOST_QUOTED = 300
"""Letters of a value that a message quotes: a name that is a little too long for Kubernetes is quoted whole."""


class StatusCause(Object, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Object, frozen=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Object, frozen=True, omit_defaults=False):
    """The body of every answer that is no object."""

    kind: str = "Status"
    api_version: str = "v1"
    metadata: Mapping[str, Any] = {}
    status: str = "Failure"
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem of one field. `kind` is Kubernetes' `field.ErrorType`: Invalid, Required, NotSupported, ...

    `value` is one that the message quotes in part: another value is another problem.
    """

    field: str
    kind: str
    message: str
    value: str = ""

    @staticmethod
    def invalid(field: str, value: object, message: str) -> "Problem":
        said, whole = _quote(value)
        return Problem(field, "FieldValueInvalid", f"Invalid value: {said}: {message}", whole)

    @staticmethod
    def required(field: str, message: str = "") -> "Problem":
        return Problem(field, "FieldValueRequired", f"Required value: {message}" if message else "Required value")

    @staticmethod
    def not_supported(field: str, value: object, supported: Sequence[str]) -> "Problem":
        choices = ", ".join(f'"{choice}"' for choice in supported)
        said, whole = _quote(value)
        message = f"Unsupported value: {said}: supported values: {choices}"
        return Problem(field, "FieldValueNotSupported", message, whole)

    @staticmethod
    def forbidden(field: str, message: str) -> "Problem":
        return Problem(field, "FieldValueForbidden", f"Forbidden: {message}")

    def __str__(self) -> str:
        return f"{shortened(self.field, MOST_QUOTED)}: {self.message}" if self.field else self.message


def quoted(text: str) -> str:
    """Text as Go writes a string between quotes."""
    return '"' + "".join(_ESCAPED.get(letter) or _shown(letter) for letter in text) + '"'


_ESCAPED = {"\\": "\\\\", '"': '\\"'} | dict(zip("\a\b\f\n\r\t\v", (rf"\{c}" for c in "abfnrtv"), strict=True))


def _shown(letter: str) -> str:
    code = ord(letter)
    if letter.isprintable():
        return letter
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _quote(value: object) -> tuple[str, str]:
    """Value as a message quotes it; and all of it, where that is only a part."""
    if isinstance(value, str):
        return quoted(shortened(value, MOST_QUOTED)), value if len(value) > MOST_QUOTED else ""
    said = _written(value)
    return shortened(said, MOST_QUOTED), said if len(said) > MOST_QUOTED else ""


def _written(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case int() | float():
            return str(value)
        case _:
            from kubeapi.codec import encode

            return encode(value).decode()
