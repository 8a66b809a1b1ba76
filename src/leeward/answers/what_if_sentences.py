"""Sentences of a what-if: its headline, the brake, and the command that asks the same. CLI and dashboard say these."""

from typing import assert_never

from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import ApplicationFate, Fate, WhatIf
from leeward.operations.sentences import counted


def answer_of(told: WhatIf) -> str:
    """The headline."""
    number = counted(len(told.applications), "application")
    if not told.applications:
        return "no application is concerned"
    if len(told.applications) == 1:
        return f"1 application is concerned: it {_fate_of(told.applications[0])}"
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


def _fate_of(only: ApplicationFate) -> str:
    """Rest of a sentence about the only application that is concerned."""
    match only.fate:
        case Fate.NO_ROOM | Fate.HELD:
            said = "is held" if only.fate is Fate.HELD else "finds no room"
            return f"{said} ({only.missing} of {counted(only.replicas, 'replica')})"
        case Fate.MOVES | Fate.CHANGED:
            return "finds room"
        case Fate.KEPT:
            return "is kept in place"
        case Fate.STAYS:
            return "stays where it is"
        case _:
            assert_never(only.fate)


def brake_sentence(told: WhatIf) -> str:
    if told.braked:
        return "the brake engages: no automatic eviction starts"
    silent = "; if they fall silent and do not refuse, it holds them for a while (--silent-clusters-hold)"
    return f"brake stays idle{silent if told.held_if_silent else ''}"


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
