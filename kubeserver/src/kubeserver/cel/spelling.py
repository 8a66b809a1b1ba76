"""Names of fields in CEL, and names that stand for an optional value: written as the library reads them.

Kubernetes escapes fields whose names are no identifiers, or are reserved. The library has quotes for them:

    self.__namespace__          self.`namespace`
    self.x__dash__y             self.`x-y`

Numbers of two types are compared where the types are not known before, and two functions of the library give other
values than Go's:

    1 < 1.5                     dyn(1) < dyn(1.5)
    string(x)                   asText(x)
    d.getMilliseconds()         d.inMilliseconds()
    l.unwrapOpt()               l.filter(o__, o__.hasValue()).map(o__, o__.value())

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
_NUMBER = r"(?<![\w.)\]])-?(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?)(?![\w.])"
_COMPARED = re.compile(rf"(?P<before>{_NUMBER})(?=\s*(?:[<>]=?))|(?P<sign>[<>]=?\s*)(?P<after>{_NUMBER})")
_OWN = re.compile(r"(?P<member>\.\s*getMilliseconds)(?=\s*\()|(?<![\w.`])(?P<free>string)(?=\s*\()")
_UNWRAPPED = re.compile(r"(?P<member>\.\s*unwrapOpt\s*\()|(?<![\w.`])(?P<free>optional\.unwrap\s*\()")
_VALUES = ".filter(o__, o__.hasValue()).map(o__, o__.value())"
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


def with_comparisons(text: str) -> str:
    """The same expression; numbers that are compared may be of two types."""
    hidden = without_literals(text)
    for found in reversed(list(_COMPARED.finditer(hidden))):
        number = found["before"] or found["after"]
        text = f"{text[: found.start()]}{found['sign'] or ''}dyn({number}){text[found.end() :]}"
    return text


def with_own_names(text: str) -> str:
    """The same expression; it has Kubernetes' `string` and `getMilliseconds` (`scalars.py`), and no `unwrapOpt`."""
    hidden = without_literals(text)
    for found in reversed(list(_UNWRAPPED.finditer(hidden))):
        end, arguments = arguments_from(text, hidden, found.end())
        owner = f"({arguments[0]})" if found["free"] and len(arguments) == 1 else ""
        if end > found.end() and bool(found["free"]) == bool(arguments[0]):
            text = f"{text[: found.start()]}{owner}{_VALUES}{text[end:]}"
            hidden = without_literals(text)
    for found in reversed(list(_OWN.finditer(hidden))):
        own = ".inMilliseconds" if found["member"] else "asText"
        text = f"{text[: found.start()]}{own}{text[found.end() :]}"
    return text
