"""`find` and `findAll` in CEL: where a regular expression matches a text.

Kubernetes: apiserver/pkg/cel/library, regex.go; the same answers, those of Go's FindString and FindAllString.
"""

from functools import lru_cache

from kubeserver.cel.function import Function
from kubeserver.go_patterns import Pattern

_REMEMBERED = 32

_compiled = lru_cache(_REMEMBERED)(Pattern)


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern)), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = _compiled(pattern).find_all(text)
    return found if limit < 0 else found[:limit]


PATTERN_FUNCTIONS = (
    Function("find", "string string string", _find),
    Function("findAll", "list string string", _find_all),
    Function("findAll", "list string string int", _find_all),
)
