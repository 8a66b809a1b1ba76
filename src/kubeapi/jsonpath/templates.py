"""Text with actions in braces, `{.status.jobs[0]['job-id']}`.

What stands outside braces is text and stays as it is. What an action finds is printed with blanks between; what is
missing is an error, and never an empty string. Lists and mappings are printed as JSON.
"""

import re
from collections.abc import Callable
from typing import Any

from kubeapi.codec import canonical
from kubeapi.jsonpath.paths import JSONPathError, compile_path, unquoted

Render = Callable[[Any], str]

_ACTION = re.compile(r"\{(?P<action>(?:\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|[^{}\"'])*)\}|(?P<text>[^{]+)")


def compile_template(template: str) -> Render:
    """A function that prints what `template` finds. Raises: JSONPathError; so does the function."""
    parts: list[Render] = []
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
    return lambda value: "".join(part(value) for part in parts)


def printed(value: Any) -> str:
    """A found value as text."""
    return value if isinstance(value, str) else canonical(value).decode()


def _text(text: str) -> Render:
    return lambda _: text


def _action(action: str, template: str) -> Render:
    if re.match(r"(range|end)\b", action):
        raise JSONPathError(
            f"{template!r}: range is not supported; name the values with a path, like {{.items[*].name}}"
        )
    if action[:1] in ("'", '"'):
        return _text(unquoted(action))
    try:
        find = compile_path(action)
    except JSONPathError as error:
        raise JSONPathError(f"{template!r}: {error}") from None

    def render(value: Any) -> str:
        try:
            return " ".join(map(printed, find(value)))
        except LookupError as error:
            raise JSONPathError(f"{template!r}: {error.args[0]}") from None

    return render
