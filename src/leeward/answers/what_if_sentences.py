"""Sentences of a what-if: its headline, the brake, and the command that asks the same. CLI and dashboard say these."""

from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import Fate, WhatIf
from leeward.operations.sentences import counted


def answer_of(told: WhatIf) -> str:
    """The headline."""
    number = counted(len(told.applications), "application")
    if not told.applications:
        return "no application is concerned"
    replicas = sum(each.replicas for each in told.applications)
    kept = sum(each.fate is Fate.KEPT for each in told.applications)
    more = f"; {kept} of them {'is' if kept == 1 else 'are'} kept in place" if kept else ""
    if not told.wanting:
        return f"all of {number} find room or stay{more}"
    held = sum(each.fate is Fate.HELD for each in told.wanting)
    missing = sum(each.missing for each in told.wanting)
    is_one = len(told.wanting) == 1
    what = ("is held" if is_one else "are held") if held == len(told.wanting) else f"find{'s' * is_one} no room"
    return f"{len(told.wanting)} of {number} {what} ({missing} of {counted(replicas, 'replica')}){more}"


def brake_sentence(told: WhatIf) -> str:
    return "the brake engages: no automatic eviction starts" if told.braked else "brake stays idle"


def command_of(change: ImaginedChange) -> str:
    """`leeward what-if --fail iad-1,iad-2 --recover-after 1800s`"""
    options = [
        ("--fail", ",".join(sorted(change.fails))),
        ("--drain", ",".join(sorted(change.drained))),
        ("--at", f"{change.at_seconds:g}s" if change.at_seconds else ""),
        ("--recover-after", "" if change.recover_after_seconds is None else f"{change.recover_after_seconds:g}s"),
        *((flag, f"{seconds:g}s") for flag, seconds in change.clocks.items()),
    ]
    return " ".join(["leeward what-if", *(f"{option} {text}" for option, text in options if text)])
