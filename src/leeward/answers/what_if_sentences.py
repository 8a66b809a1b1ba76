"""Sentences of a what-if: its headline, the brake, and the command that asks the same. CLI and dashboard say these."""

from collections.abc import Sequence
from typing import assert_never

from leeward.answers.fates import ApplicationFate, Fate
from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import WhatIf
from leeward.operations.sentences import counted


def answer_of(told: WhatIf) -> str:
    """The headline: who serves, then with how many."""
    number = counted(len(told.applications), "application")
    if not told.applications:
        return "no application is affected"
    gated = sum(bool(each.gates) for each in told.applications)
    if len(told.applications) == 1:
        return f"1 application is affected: it {_fate_of(told.applications[0])}{', and would wait for a gate' * gated}"
    kept = sum(each.fate is Fate.KEPT and not each.missing for each in told.applications)
    more = f"; {counted(kept, 'application')} would not move" if kept else ""
    more += f"; {counted(gated, 'application')} would wait for a gate" if gated else ""
    if not told.wanting:
        return f"{len(told.applications)} of {number} would serve with all replicas{more}"
    return f"{_service(told.wanting, number)}{more}; in total, {_missing_of(told.applications)}"


def _service(wanting: Sequence[ApplicationFate], number: str) -> str:
    """`2 of 3 applications would be down, 1 would serve with fewer replicas`"""
    nobody = sum(each.serves_nobody for each in wanting)
    fewer = len(wanting) - nobody
    if not nobody:
        return f"{fewer} of {number} would serve with fewer replicas"
    return f"{nobody} of {number} would be down" + (f", {fewer} would serve with fewer replicas" if fewer else "")


def _missing_of(applications: Sequence[ApplicationFate]) -> str:
    """`4 of 9 replicas would be missing, 1 of them waits for a node`"""
    missing, asked = sum(each.missing for each in applications), sum(each.replicas for each in applications)
    waiting = sum(waiting_of(each) for each in applications)
    waits = f", {waiting} of them wait{'s' * (waiting == 1)} for a node" if waiting else ""
    return f"{missing} of {counted(asked, 'replica')} would be missing{waits}"


def waiting_of(each: ApplicationFate) -> int:
    """Replicas that are missing since they wait for a node."""
    return sum(each.waiting.values()) if each.missing else 0


def _fate_of(only: ApplicationFate) -> str:
    """Rest of a sentence about the only application that is concerned."""
    if only.missing:
        served = "be down" if only.serves_nobody else f"serve with {only.serves} of {only.replicas} replicas"
        return f"would {served}{f', and {waiting_of(only)} would wait for a node' if waiting_of(only) else ''}"
    match only.fate:
        case Fate.MOVES | Fate.CHANGED:
            return "would serve with all replicas"
        case Fate.KEPT:
            return "would not move"
        case Fate.STAYS | Fate.NO_ROOM | Fate.HELD:
            return "would stay where it is"
        case _:
            assert_never(only.fate)


def brake_sentence(told: WhatIf) -> str:
    if told.braked:
        return "in this simulation, the brake would stop automatic evictions"
    silent = ", unless connections to the clusters time out (--silent-clusters-hold)"
    return f"the brake would not stop automatic evictions{silent if told.held_if_silent else ''}"


def command_of(change: ImaginedChange) -> str:
    """`leeward what-if --fail iad-1,iad-2 --recover-after 1800s`; of a release the command that does it."""
    if change.releases_brake:
        return "leeward brake release"
    options = [
        ("--fail", ",".join(sorted(change.fails))),
        ("--drain", ",".join(sorted(change.drained))),
        ("--at", f"{change.at_seconds:g}s" if change.at_seconds else ""),
        ("--recover-after", "" if change.recover_after_seconds is None else f"{change.recover_after_seconds:g}s"),
        *((flag, f"{seconds:g}s") for flag, seconds in change.clocks.items()),
    ]
    return " ".join(["leeward what-if", *(f"{option} {text}" for option, text in options if text)])
