"""`find` and `findAll` in CEL: where a regular expression matches a text.

Who matches is the CEL library, in linear time. It tells what the one group of an expression caught, where Kubernetes
asks for the whole match: so no group catches anything. Matches of no letters are not told.
"""

from collections.abc import Callable, Sequence

from kubeserver.cel.function import Function

Extract = Callable[[str, str], Sequence[str]]
"""Function from a text and an expression to all matches. Raises: ValueError for what is no expression."""


def pattern_functions(extract: Extract) -> tuple[Function, ...]:
    def find(text: str, pattern: str) -> str:
        return next(iter(find_all(text, pattern)), "")

    def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
        found = [match for match in extract(text, without_groups(pattern)) if match]
        return found if limit < 0 else found[:limit]

    return (
        Function("find", "string string string", find),
        Function("findAll", "list string string", find_all),
        Function("findAll", "list string string int", find_all),
    )


def without_groups(pattern: str) -> str:
    """The same expression; nothing in it catches."""
    written: list[str] = []
    place, in_class = 0, False
    while place < len(pattern):
        part = _part(pattern, place, in_class)
        in_class = (in_class or part == "[") and part != "]"
        written.append("(?:" if part.startswith("(") and part != "(?" else part)
        place += len(part)
    return "".join(written)


def _part(pattern: str, place: int, in_class: bool) -> str:
    """Part that begins at `place`: a letter with its backslash, the opening of a group that catches, `(?`, or one
    letter."""
    rest = pattern[place:]
    if rest.startswith("\\") or in_class:
        return rest[: 2 if rest.startswith("\\") else 1]
    for opening in ("(?P<", "(?<"):
        if rest.startswith(opening) and ">" in rest:
            return rest[: rest.index(">") + 1]
    return rest[: 2 if rest.startswith("(?") else 1]
