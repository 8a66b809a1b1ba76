"""`metav1.Status`: how the API says no, with the field that is wrong.

`Problem` is one finding of a validation; `invalid` turns several into the answer that kubectl prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeapi.meta import Object


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
    """Problem of one field. `kind` is Kubernetes' `field.ErrorType`: Invalid, Required, NotSupported, ..."""

    field: str
    kind: str
    message: str

    @staticmethod
    def invalid(field: str, value: object, message: str) -> "Problem":
        return Problem(field, "FieldValueInvalid", f"Invalid value: {_quote(value)}: {message}")

    @staticmethod
    def required(field: str, message: str = "") -> "Problem":
        return Problem(field, "FieldValueRequired", f"Required value: {message}" if message else "Required value")

    @staticmethod
    def not_supported(field: str, value: object, supported: Sequence[str]) -> "Problem":
        choices = ", ".join(f'"{choice}"' for choice in supported)
        return Problem(
            field,
            "FieldValueNotSupported",
            f"Unsupported value: {_quote(value)}: supported values: {choices}",
        )

    @staticmethod
    def forbidden(field: str, message: str) -> "Problem":
        return Problem(field, "FieldValueForbidden", f"Forbidden: {message}")

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


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


def _quote(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quoted(value)
        case None:
            return "null"
        case int() | float():
            return str(value)
        case _:
            from kubeapi.codec import encode

            return encode(value).decode()
