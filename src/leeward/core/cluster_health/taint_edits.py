"""Taints by hand, as kubectl and karmadactl write them.

    key=value:Effect   key:Effect     adds one, or with `overwrite` gives it another value
    key:Effect-        key-           removes one, or all with the key

Pure text and tuples; who may taint a cluster, and with which keys, is the API server's business.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kubeapi.core import Taint

EFFECTS = ("NoSchedule", "NoExecute")
"""Effects that a taint of a Cluster may have."""
_SYNTAX = "write KEY=VALUE:EFFECT, KEY:EFFECT, KEY:EFFECT- or KEY-"


class TaintProblem(ValueError):
    """Fault of an edit, for people."""


@dataclass(frozen=True, slots=True)
class TaintEdit:
    """Change of a cluster's taints; with `remove`, an empty `effect` is every effect."""

    key: str
    effect: str = ""
    value: str = ""
    remove: bool = False

    def concerns(self, taint: Taint) -> bool:
        return taint.key == self.key and self.effect in ("", taint.effect)

    def __str__(self) -> str:
        return f"{self.key}:{self.effect}" if self.effect else self.key


def parse_taint_edits(texts: Sequence[str]) -> tuple[TaintEdit, ...]:
    """Raises: TaintProblem."""
    edits = tuple(map(_parse, texts))
    twice = [taint for taint, count in Counter(str(edit) for edit in edits).items() if count > 1]
    if twice:
        raise TaintProblem(f"{', '.join(twice)}: named more than once; one command can add or remove it, not both")
    return edits


def edit_taints(taints: Sequence[Taint], edits: Iterable[TaintEdit], *, overwrite: bool = False) -> tuple[Taint, ...]:
    """Raises: TaintProblem when one to be added is there already, or one to be removed is not."""
    result = tuple(taints)
    for edit in edits:
        found = [taint for taint in result if edit.concerns(taint)]
        if edit.remove and not found:
            raise TaintProblem(f'taint "{edit}" not found')
        if not edit.remove and found and not overwrite:
            raise TaintProblem(f"the cluster has the taint {edit} already: add --overwrite to give it another value")
        result = tuple(taint for taint in result if taint not in found)
        if not edit.remove:
            result = (*result, Taint(key=edit.key, effect=edit.effect, value=edit.value))
    return result


def describe_edits(edits: Iterable[TaintEdit]) -> Literal["tainted", "untainted", "modified"]:
    """The word that kubectl has for it."""
    kinds = {edit.remove for edit in edits}
    return "modified" if len(kinds) > 1 else "untainted" if True in kinds else "tainted"


def _parse(text: str) -> TaintEdit:
    remove = text.endswith("-")
    described, colon, effect = text.removesuffix("-").partition(":")
    key, equals, value = described.partition("=")
    if not key or "=" in value or ":" in effect or (equals and not colon):
        raise TaintProblem(f"{text!r} is no taint: {_SYNTAX}")
    if colon and effect not in EFFECTS:
        raise TaintProblem(f"{text!r}: the effect {effect!r} is none of {', '.join(EFFECTS)}")
    if not remove and not effect:
        raise TaintProblem(f"{text!r} has no effect: {_SYNTAX}")
    return TaintEdit(key, effect, value, remove)
