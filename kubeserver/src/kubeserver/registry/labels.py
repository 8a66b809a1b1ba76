"""Label selectors in their text form, read as kube-apiserver reads them: same grammar, same words for what is wrong.

a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a, a>1, a<1
"""

import re
from collections.abc import Iterable

from kubeapi.selectors import Requirement, Selector
from kubeapi.status import Problem
from kubeserver.names import label_value, qualified_name

_TOKEN = re.compile(r"\s*(?:(==|!=|=|!|\(|\)|,|<|>)|([^\s=!(),<>]+)|$)")
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}
_WORDS = ("in", "notin")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_SYMBOLS = ("==", "!=", "=", "!", "(", ")", ",", "<", ">")


def parse_labels(text: str) -> Selector:
    """Raises: ValueError with the message for the client."""
    return tuple(_Parser(text).parse())


class _Parser:
    """Looks one token ahead; "" is the end."""

    def __init__(self, text: str) -> None:
        self._tokens = [symbol or word for symbol, word in _TOKEN.findall(text) if symbol or word]
        self._at = 0

    def parse(self) -> Iterable[Requirement]:
        while True:
            if self._peek() == "":
                return
            if self._peek() != "!" and self._peek() in _SYMBOLS:
                raise ValueError(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
            try:
                yield self._requirement()
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            if self._peek() == "":
                return
            if self._peek() != ",":
                raise ValueError(f"found '{self._peek()}', expected: ',' or 'end of string'")
            self._take()
            if self._peek() != "!" and (self._peek() == "" or self._peek() in _SYMBOLS):
                raise ValueError(f"found '{self._peek()}', expected: identifier after ','")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._take()
        if key in _SYMBOLS or not key:
            raise ValueError(f"found '{key}', expected: identifier")
        _check(qualified_name(key), "<nil>", key)
        if absent:
            return Requirement(key, "DoesNotExist")
        if self._peek() in ("", ","):
            return Requirement(key, "Exists")
        operator = self._take()
        if operator not in _OPERATORS:
            raise ValueError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if operator in _WORDS else (self._value(),)
        return _checked(Requirement(key, _OPERATORS[operator], values))

    def _value(self) -> str:
        """One value, which may be empty."""
        if self._peek() in ("", ","):
            return ""
        value = self._take()
        if value in _SYMBOLS:
            raise ValueError(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> tuple[str, ...]:
        if self._take_if("(") is None:
            raise ValueError(f"found '{self._peek()}' expected: '('")
        values: list[str] = []
        while self._peek() != ")":
            if self._peek() == ",":
                values += [""] if not values else []
                self._take()
                values += [""] if self._peek() in (",", ")") else []
                continue
            if self._peek() in ("", *_SYMBOLS):
                raise ValueError(f"found '{self._peek()}', expected: ',', ')' or identifier")
            values.append(self._take())
            if self._peek() not in (",", ")"):
                raise ValueError(f"found '{self._peek()}', expected: ',' or ')'")
        self._take()
        return tuple(sorted(set(values or [""])))

    def _take_if(self, token: str) -> str | None:
        return self._take() if self._peek() == token else None


def _checked(requirement: Requirement) -> Requirement:
    for index, value in enumerate(requirement.values):
        if requirement.operator in ("Gt", "Lt") and not _INTEGER.fullmatch(value):
            said = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise ValueError(Problem.invalid(f"values[{index}]", value, said))
        _check(label_value(value), f"values[{index}][{requirement.key}]", value)
    return requirement


def _check(said: list[str], field: str, value: str) -> None:
    if said:
        raise ValueError(Problem.invalid(field, value, "; ".join(said)))
