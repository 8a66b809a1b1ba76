"""Go's regular expressions, matched by RE2: in time linear in the text, without backtracking.

RE2 is the engine that Go's follows, and reads the same syntax. They differ in these:

    \\p{Letter}, \\p{greek}, \\p{LC}, \\p{ASCII}, \\p{Assigned}     names of classes that Go 1.25 added
    \\C, (?P<é>.), groups nested deeper than 1,000               RE2 takes them, Go refuses them
    (\\pL{100}){10}                                             RE2 refuses such a size, Go takes it

The first are written as RE2 reads them, the second are refused, and the third stay refused: they are too large.
`\\p{Cn}` between brackets has no such form, and is refused.
Go: regexp/syntax of 1.26, with which Kubernetes 1.36 is built.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import re2

MAX_BYTES = 8 * 1024 * 1024
"""Bytes that one compiled expression may take."""
_MOST_NESTED = 1_000
_FORM = "must be a regular expression without lookaround and backreferences, and not too large"
_PARTS = re.compile(
    r"(?P<quoted>\\Q.*?(?:\\E|\Z))|\\(?P<unicode>[pP])(?:\{(?P<hat>\^?)(?P<name>[^}]*)\}|(?P<letter>.))"
    r"|(?P<escape>\\.)|(?P<posix>\[:\^?\w+:\])|(?P<opening>\[\^?\]?)|(?P<closing>[\])])|\((?:\?P?<(?P<id>\w*)>)?",
    re.DOTALL,
)
_CLASSES: Mapping[str, str] = {
    "ascii": r"\x00-\x7f",
    "assigned": r"\pL\pM\pN\pP\pS\pZ\pC",
    "lc": r"\p{Lu}\p{Ll}\p{Lt}",
    "casedletter": r"\p{Lu}\p{Ll}\p{Lt}",
}
"""Unions of classes that RE2 has no name for."""
_NAMES_OF_CATEGORIES = """
    any:Any closepunctuation:Pe cntrl:Cc combiningmark:M connectorpunctuation:Pc control:Cc currencysymbol:Sc
    dashpunctuation:Pd decimalnumber:Nd digit:Nd enclosingmark:Me finalpunctuation:Pf format:Cf initialpunctuation:Pi
    letter:L letternumber:Nl lineseparator:Zl lowercaseletter:Ll mark:M mathsymbol:Sm modifierletter:Lm
    modifiersymbol:Sk nonspacingmark:Mn number:N openpunctuation:Ps other:C otherletter:Lo othernumber:No
    otherpunctuation:Po othersymbol:So paragraphseparator:Zp privateuse:Co punct:P punctuation:P separator:Z
    spaceseparator:Zs spacingmark:Mc surrogate:Cs symbol:S titlecaseletter:Lt uppercaseletter:Lu
"""
_ALIASES: Mapping[str, str] = dict(re.findall(r"(\w+):(\w+)", _NAMES_OF_CATEGORIES))
"""Category of Unicode for each alias, written without spaces, `_` and `-`. Unicode: PropertyValueAliases."""


_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?"
_LINEAR: Mapping[str, re.Pattern[str]] = {f"^{text}$": re.compile(text) for text in (_QUANTITY,)}
"""Expressions that Python's engine matches in the same way, in linear time, and faster: Kubernetes' quantity."""


class Pattern:
    """A compiled expression."""

    def __init__(self, text: str, max_bytes: int = MAX_BYTES) -> None:
        """Raises: ValueError."""
        library: Any = re2
        options = library.Options()
        options.max_mem, options.log_errors = max_bytes, False
        try:
            self._compiled = library.compile(_for_re2(text).encode(), options)
        except library.error as error:
            raise ValueError(_FORM) from error
        finally:
            library.purge()
        self._linear = _LINEAR.get(text)
        self.size = cast(int, self._compiled.programsize)
        """Number of instructions, as many of which may be looked at for each byte of a text."""

    def matches(self, text: str) -> bool:
        """Tells whether the expression matches anywhere in the text."""
        if self._linear is not None:
            return self._linear.fullmatch(text) is not None
        return self._compiled.search(text.encode(errors="surrogatepass")) is not None

    def find_all(self, text: str) -> list[str]:
        """The matches that do not overlap. As in Go, an empty one does not follow another match directly."""
        found: list[str] = []
        end = -1
        for match in self._compiled.finditer(text):
            if match.group() or match.start() > end:
                found.append(match.group())
            end = match.end()
        return found


def _for_re2(text: str) -> str:
    """The same expression, as RE2 reads it. Raises: ValueError for what Go refuses and RE2 takes."""
    written: list[str] = []
    in_class, depth, end = False, 0, 0
    for part in _PARTS.finditer(text):
        found = part[0]
        if part["opening"] or found == "]":
            in_class = not found.endswith("]") or (not in_class and found != "]")
        elif not in_class and found[0] in "()":
            depth += -1 if found == ")" else 1
        if found == r"\C" or depth >= _MOST_NESTED or not (part["id"] or "").isascii():
            raise ValueError(_FORM)
        written += text[end : part.start()], _class(part, in_class) if part["unicode"] else found
        end = part.end()
    return "".join([*written, text[end:]])


def _class(part: re.Match[str], in_class: bool) -> str:
    """A class of Unicode, between brackets or alone. Raises: ValueError."""
    given = part["name"] or part["letter"] or ""
    name = re.sub("[ _-]", "", given).lower()
    negated = (part["unicode"] == "P") != bool(part["hat"])
    if name == "cn":
        name, negated = "assigned", not negated
    if members := _CLASSES.get(name):
        if in_class and negated:
            raise ValueError(_FORM)
        return members if in_class else f"[{'^' * negated}{members}]"
    words = "_".join(word.capitalize() for word in re.split("[ _-]", given))
    return f"\\{'P' if negated else 'p'}{{{_ALIASES.get(name, words)}}}"
