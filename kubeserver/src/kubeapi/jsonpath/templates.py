"""Text with actions in braces, `{.status.jobs[0]['job-id']}`.

What stands outside braces is text and stays as it is. What an action finds is printed with blanks between; what is
missing is an error, and never an empty string. Lists and mappings are printed as JSON.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from kubeapi.codec import canonical
from kubeapi.jsonpath.paths import JSONPathError, PathEffort, PathTooLarge, compile_search, unquoted

Render = Callable[[Any], str]
MOST_CHARACTERS = 4 * 1024 * 1024
"""Characters of what a template prints: more than one object has."""
_Part = Callable[[Any, PathEffort], Iterator[str]]

_ACTION = re.compile(r"\{(?P<action>(?:\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|[^{}\"'])*)\}|(?P<text>[^{]+)")


def compile_template(template: str) -> Render:
    """A function that prints what `template` finds. Raises: JSONPathError; so does the function."""
    parts: list[_Part] = []
    position = 0
    while position < len(template):
        match = _ACTION.match(template, position)
        if match is None:
            raise JSONPathError(
                f"{template!r}: the brace at {template[position:]!r} opens an action that is not closed"
            )
        action = match["action"]
        parts.append(_text(match["text"]) if action is None else _action(action.strip(), template))
        position = match.end()

    def render(value: Any) -> str:
        effort, texts, length = PathEffort(), list[str](), 0
        for text in (text for part in parts for text in part(value, effort)):
            length += len(text)
            if length > MOST_CHARACTERS:
                raise PathTooLarge(f"{template!r}: it prints more than {MOST_CHARACTERS} characters; name fewer values")
            texts.append(text)
        return "".join(texts)

    return render


def printed(value: Any) -> str:
    """A found value as text."""
    return value if isinstance(value, str) else canonical(value).decode()


def _text(text: str) -> _Part:
    return lambda value, effort: iter((text,))


def _action(action: str, template: str) -> _Part:
    if re.match(r"(range|end)\b", action):
        raise JSONPathError(
            f"{template!r}: range is not supported; name the values with a path, like {{.items[*].name}}"
        )
    if action[:1] in ("'", '"'):
        return _text(unquoted(action))
    try:
        search = compile_search(action)
    except JSONPathError as error:
        raise JSONPathError(f"{template!r}: {error}") from None

    def texts(value: Any, effort: PathEffort) -> Iterator[str]:
        try:
            found = search(value, effort)
        except LookupError as error:
            raise JSONPathError(f"{template!r}: {error.args[0]}") from None
        except PathTooLarge as error:
            raise PathTooLarge(f"{template!r}: {error}") from None
        for index, each in enumerate(found):
            yield f" {printed(each)}" if index else printed(each)

    return texts
