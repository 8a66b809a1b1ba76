"""Literals of lists and maps in CEL, whose members have one type in Kubernetes: `[1, 'a']` is refused.

Only members that are literals themselves, or `dyn(...)`, are looked at; fields of an `Object{...}` have types of their
own. Kubernetes: cel.HomogeneousAggregateLiterals.
"""

import re
from collections.abc import Iterator

from kubeserver.cel.macros import arguments_from, without_literals
from kubeserver.cel.objects import TYPE_KEY

_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_KINDS = (
    ("string", re.compile(rf"[rR]?{_QUOTED}")),
    ("bytes", re.compile(rf"[bB][rR]?{_QUOTED}")),
    ("bool", re.compile("true|false")),
    ("null", re.compile("null")),
    ("uint", re.compile(r"(?:\d+|0x[0-9a-fA-F]+)[uU]")),
    ("int", re.compile(r"-?(?:\d+|0x[0-9a-fA-F]+)")),
    ("double", re.compile(r"-?(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)")),
    ("list", re.compile(r"\[.*\]", re.DOTALL)),
    ("map", re.compile(r"\{.*\}", re.DOTALL)),
    ("dyn", re.compile(r"dyn\(.*\)", re.DOTALL)),
)
_OPENED = re.compile(r"(?<![\w)\]}.`])(?<![\w)\]}.`]\s)[\[{]")


def mixed_literal(text: str) -> str | None:
    """Fault of a literal whose members have two types; None where there is none."""
    hidden = without_literals(text)
    for opened in _OPENED.finditer(hidden):
        _, members = arguments_from(text, hidden, opened.end())
        if any(TYPE_KEY in member for member in members[:1]):
            continue
        columns = [members] if opened[0] == "[" else zip(*map(_entry, members), strict=True)
        for column in columns:
            kinds = list(dict.fromkeys(_known_kinds(column)))
            if len(kinds) > 1:
                return f"expected type '{kinds[0]}' but found '{kinds[1]}'"
    return None


def _entry(member: str) -> tuple[str, str]:
    key, _, value = without_literals(member).partition(":")
    return member[: len(key)].strip(), member[len(member) - len(value) :].strip()


def _known_kinds(members: "list[str] | tuple[str, ...]") -> Iterator[str]:
    for member in members:
        yield from (kind for kind, form in _KINDS if form.fullmatch(member.strip()))
