"""Names of fields in CEL, and names that stand for an optional value: written as the library reads them.

Kubernetes escapes fields whose names are no identifiers, or are reserved. The library has quotes for them:

    self.__namespace__          self.`namespace`
    self.x__dash__y             self.`x-y`

A function in Python cannot make an optional value. A list of at most one item can become one:

    format.named('uuid')        format.named('uuid')[?0]
    oldSelf.hasValue()          oldSelf[?0].hasValue()

Kubernetes: apiserver/pkg/cel/escaping; the same names.
"""

import re

from kubeserver.cel.macros import arguments_from, without_literals

_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_SIGNS = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_SELECTED = re.compile(r"(?<=[.?])(\s*)([A-Za-z_]\w*)\b(?!\s*\()")
_ESCAPED = re.compile("__([^_]+)__")
_OPTIONAL = re.compile(r"(?:\.\s*validate|(?<![\w.])format\s*\.\s*named)\s*\(")
_OLD_SELF = re.compile(r"(?<![\w.`])oldSelf\b")
_FIRST = "[?0]"


def without_escapes(text: str) -> str:
    """The same expression; its fields have their own names."""
    hidden = without_literals(text)
    for found in reversed(list(_SELECTED.finditer(hidden))):
        name = _unescaped(found[2])
        if name != found[2]:
            text = f"{text[: found.start(2)]}`{name}`{text[found.end() :]}"
    return text


def _unescaped(name: str) -> str:
    whole = _ESCAPED.fullmatch(name)
    if whole and whole[1] in _RESERVED:
        return whole[1]
    return _ESCAPED.sub(lambda found: _SIGNS.get(found[1], found[0]), name)


def with_optionals(text: str) -> str:
    """The same expression; functions that give an optional value give a list of at most one, of which the first is
    taken."""
    hidden = without_literals(text)
    for found in reversed(list(_OPTIONAL.finditer(hidden))):
        end, arguments = arguments_from(text, hidden, found.end())
        if arguments:
            text, hidden = (f"{each[:end]}{_FIRST}{each[end:]}" for each in (text, hidden))
    return text


def with_optional_old(text: str) -> str:
    """The same rule, for an `oldSelf` that is a list of at most one value."""
    hidden = without_literals(text)
    for found in reversed(list(_OLD_SELF.finditer(hidden))):
        text = f"{text[: found.end()]}{_FIRST}{text[found.end() :]}"
    return text
