"""Planted bugs of what is told of outages."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import msgspec

from leeward.api.outage import MoveState, OutagePhase, OutageStatus
from leeward.controllers import outage
from leeward.core.outages import applications, fold, record
from leeward.core.outages.sight import decide_state
from simulator.histories.model import History, MemberStops
from simulator.histories.steered.casting import evenly, web
from tests.sim.planted_harm import PUSHED, Harm

_LOST = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2"), 4),
        web(evenly("m1"), 2, "shop", 46),
        MemberStops(at=80, lasts=100, member="m1"),
    ),
)
_LOST_TWICE = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2"), 4),
        MemberStops(at=80, lasts=40, member="m1"),
        MemberStops(at=150, lasts=40, member="m1"),
    ),
)


def _tell_of_nothing() -> Any:
    return mock.patch.object(outage, "is_lost", return_value=False)


def _never_end() -> Any:
    """An outage whose cluster is back stays open."""
    of_outage = fold._of_outage  # pyright: ignore[reportPrivateUsage]

    def open_still(*arguments: Any) -> OutageStatus:
        status = of_outage(*arguments)
        is_over = status.phase is OutagePhase.OVER
        return msgspec.structs.replace(status, phase=OutagePhase.RETURNED) if is_over else status

    return mock.patch.object(fold, "_of_outage", open_still)


def _forget_who_left() -> Any:
    """Applications that have left are said to have stayed."""

    def stayed(*arguments: Any) -> Any:
        state, reason, message = decide_state(*arguments)
        return (MoveState.RETURNED if state is MoveState.MOVED else state), reason, message

    return mock.patch.object(applications, "decide_state", stayed)


def _claim_that_all_moved() -> Any:
    """Applications that are lost are said to have moved, while they stay."""

    def moved(sight: Any, *arguments: Any) -> Any:
        state, reason, message = decide_state(sight, *arguments)
        return (MoveState.MOVED if state is MoveState.DUE else state), reason, message

    return mock.patch.object(applications, "decide_state", moved)


def _leave_applications_out() -> Any:
    """The object names those that were kept."""

    def named(known: record.OutageRecord) -> Any:
        told = {key: each for key, each in known.applications.items() if each.left_at is None}
        return render(replace(known, applications=told))

    render = record.render
    return mock.patch.object(outage, "render", named)


def _count_twice() -> Any:
    counts_of = record.counts_of

    def counted(known: record.OutageRecord) -> dict[str, int]:
        return {name: 2 * count for name, count in counts_of(known).items()}

    return mock.patch.object(record, "counts_of", counted)


def _begin_anew() -> Any:
    """Each failure is an outage of its own, however soon it follows."""
    return mock.patch.object(record, "GOES_ON", timedelta())


OUTAGES: Mapping[str, Harm] = {
    "tell of no outage": Harm(_tell_of_nothing, "S19", _LOST),
    "never end an outage": Harm(_never_end, "L1", _LOST),
    "forget who left": Harm(_forget_who_left, "S19", _LOST),
    "claim that all moved": Harm(_claim_that_all_moved, "S19", _LOST),
    "leave applications out": Harm(_leave_applications_out, "S19", _LOST),
    "count applications twice": Harm(_count_twice, "S19", _LOST),
    "begin an outage anew": Harm(_begin_anew, "S19", _LOST_TWICE),
}
