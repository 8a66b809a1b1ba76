"""Purge modes: how an old copy goes when an application leaves a cluster. One row for each.

What a policy may say, what is filled in and checked, and what decisions do follow from the row.

Karmada 1.6 to 1.18 had two older words, and `Graciously` was the default of its definitions up to 1.14. Objects that
were stored then keep them: they are read as the words of today (`OLD_WORDS`), which is all that Leeward writes.

Karmada: `PurgeMode` of the policy API; a task that says nothing goes Gracefully.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, get_args

from msgspec import Meta


class PurgeMode(StrEnum):
    GRACEFULLY = "Gracefully"
    DIRECTLY = "Directly"
    NEVER = "Never"


DEFAULT_PURGE_MODE = PurgeMode.GRACEFULLY
"""Mode of policies and tasks that say nothing, and of the flag."""

OLD_WORDS: Mapping[str, PurgeMode] = {"Graciously": PurgeMode.GRACEFULLY, "Immediately": PurgeMode.DIRECTLY}
"""Modes by the words that Karmada had for them before 1.15."""
PurgeModeText = Literal["", "Directly", "Gracefully", "Never"]
"""Texts that tasks, and policies about application failover, may have."""
StoredPurgeModeText = Literal[PurgeModeText, "Graciously", "Immediately"]
"""Texts that such objects may have in a store; once read, none of them is an old word."""
TaintPurgeModeText = Literal["", "Directly", "Gracefully"]
"""Texts that policies may have for taints: the modes that `serves_taints`."""
StoredTaintPurgeModeText = Literal[TaintPurgeModeText, "Graciously", "Immediately"]
"""Texts that are read there. No Karmada has stored an old word: the field came with the words of today."""


@dataclass(frozen=True, slots=True)
class PurgeRules:
    """Meaning of a mode.

    keeps_copy        the old copy's Work stays until its eviction has ended; else it is deleted as long as the reason
                      of its eviction stands, and no new copy is made before it is known to be gone (S7)
    needs_place       nothing leaves without a place to go (S11), and a cluster that is held down for flapping is only
                      a last resort (C1)
    withdraws         the eviction is taken back when its cluster is well again
    moves_on          a replacement that never becomes healthy is left for the next cluster
    has_grace         the policy's grace period counts, and it must have one; else that of the flags
    suppresses        the old copy stays until somebody confirms that it may go
    serves_taints     taints may evict so: a policy may choose it for cluster failover, and the flag
    """

    keeps_copy: bool
    needs_place: bool
    withdraws: bool
    moves_on: bool
    has_grace: bool
    suppresses: bool
    serves_taints: bool


_GRACEFULLY = PurgeRules(
    keeps_copy=True,
    needs_place=True,
    withdraws=True,
    moves_on=True,
    has_grace=True,
    suppresses=False,
    serves_taints=True,
)
_DIRECTLY = replace(_GRACEFULLY, keeps_copy=False, needs_place=False, has_grace=False)
_NEVER = replace(_GRACEFULLY, withdraws=False, moves_on=False, has_grace=False, suppresses=True, serves_taints=False)
_RULES = {PurgeMode.GRACEFULLY: _GRACEFULLY, PurgeMode.DIRECTLY: _DIRECTLY, PurgeMode.NEVER: _NEVER}
RULES_BY_WORD: Mapping[str, PurgeRules] = {"": _GRACEFULLY, **_RULES}
"""Rules by the word of a task, or of a policy."""


def rules_of(mode: PurgeMode) -> PurgeRules:
    return _RULES[mode]


def find_purge_mode(text: str) -> PurgeMode | None:
    """The mode that a policy names; the default where it says nothing, None for a word that is none."""
    return next((mode for mode in PurgeMode if mode == (text or DEFAULT_PURGE_MODE)), None)


def word_of_today(text: str) -> str:
    """The word that Karmada has for the mode today; any other text stays as it is."""
    return OLD_WORDS[text].value if text in OLD_WORDS else text


TAINT_PURGE_MODES = tuple(mode for mode in PurgeMode if rules_of(mode).serves_taints)
MODE_SCHEMA = Meta(extra_json_schema={"enum": [text for text in get_args(PurgeModeText) if text]})
TAINT_MODE_SCHEMA = Meta(extra_json_schema={"enum": [text for text in get_args(TaintPurgeModeText) if text]})
"""Schemas of fields of which old words are read: what is new has the words of today."""
GRACE_PURGE_MODES = tuple(mode for mode in PurgeMode if rules_of(mode).has_grace)
