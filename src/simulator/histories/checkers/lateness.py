"""Lateness with which a party may know something: the excuses of a history, each with its time and its reason.

Without a fault on its way a controller knows what is written `PROMPT_SECONDS` later. A fault that lies on the way
excuses more, from its beginning until those who wait for answers have given them up, and never more than such a fault
can explain: a line that is two seconds late is no excuse for what happened a minute ago.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from simulator.histories.model import (
    AgentIsKilled,
    AnyStep,
    ApiServerIsKilled,
    Autoscale,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Drain,
    Fault,
    History,
    HubIsRestored,
    HubIsSuspended,
    LeaderIsPaused,
    Meddle,
    MemberComesBackOld,
    MemberFlaps,
    MemberHangs,
    MemberIsKilled,
    MemberIsSlow,
    MemberIsUnready,
    MemberLies,
    MemberLosesData,
    MemberRefusesWrites,
    MemberShrinks,
    MemberStops,
    NodesAreCordoned,
    Own,
    Partition,
    Rejoin,
    RestartPod,
    ShardIsPaused,
    Squat,
    Storm,
    TwoLeaders,
    UserStep,
)

PROMPT_SECONDS = 0.5
"""Seconds for a write that is on its way, and for a decision that was taken just before."""
RESUME_SECONDS = 6.0
"""The longest pause between two attempts to watch (5 s and its jitter), and the first line."""
ANSWER_SECONDS = 11.0
"""Seconds for which a request waits for an answer that was lost."""
BACKLOG = 4
"""Lines that wait behind each other, each as late as can be."""
BAD_LUCK = 0.01
"""Probability at which a row of requests that all fail still excuses who made them."""
WORST_RATE = 0.9
"""Share of requests that is excused where more than that fails, until the storm is over."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 30.0
"""Seconds between two tries; each is twice as long as the one before."""
CONTROLLERS = "controllers"
ENDLESS = float("inf")


@dataclass(frozen=True, slots=True)
class Window:
    """Time from `begin` to `end` in which what a party knows may be up to `late_seconds` old."""

    begin: float
    end: float
    late_seconds: float = ENDLESS


class Lateness:
    """`windows` by party: the controllers know the control plane's objects, a member's name stands for those who work
    in that member."""

    def __init__(self, windows: Mapping[str, Sequence[Window]]) -> None:
        self._windows = {who: sorted(found, key=lambda w: w.begin) for who, found in windows.items()}

    def due(self, since: float, *who: str) -> float:
        """Instant at which all of them must know, and have done with what they did before, what became true at
        `since`."""
        moment = since + PROMPT_SECONDS
        for window in self._of(who):
            if window.begin <= moment < window.end:
                moment = max(moment, min(window.end, since + window.late_seconds + PROMPT_SECONDS))
        return moment

    def oldest(self, moment: float, *who: str) -> float:
        """Instant since which what they know at `moment` may be out of date."""
        oldest = moment - PROMPT_SECONDS
        for window in reversed(self._of(who)):
            if window.begin <= oldest < window.end:
                oldest = max(window.begin - PROMPT_SECONDS, oldest - window.late_seconds)
        return oldest

    def _of(self, who: tuple[str, ...]) -> list[Window]:
        found = [window for party in who for window in self._windows.get(party, ())]
        return found if len(who) == 1 else sorted(found, key=lambda window: window.begin)


def lateness_of(history: History) -> Lateness:
    """Lateness that the faults of a history excuse."""
    windows: dict[str, list[Window]] = {}
    modes = dict(history.members)
    for step in history.steps:
        for who, window in _windows(step):
            for party in _parties(who, modes):
                windows.setdefault(party, []).append(window)
    return Lateness(windows)


def _parties(who: str, modes: Mapping[str, str]) -> list[str]:
    if who in ("agents", "members"):
        return [name for name, mode in modes.items() if who == "members" or mode == "Pull"]
    return [who]


def undisturbed(history: History) -> frozenset[str]:
    """The members that no step touches, in a history in which nothing happens to the control plane either."""
    touched: set[str] = set()
    for step in history.steps:
        who = touched_by(step)
        if who == CONTROLLERS:
            return frozenset()
        touched.add(who)
    return frozenset(name for name, _ in history.members if name not in touched)


def touched_by(step: AnyStep) -> str:
    """The member that a step is about; `CONTROLLERS` where it is the control plane; empty where it is neither."""
    match step:
        case Storm() | Partition():
            return _party(step.who, step.whom)
        case ClockIsWrong():
            return step.who.removeprefix("agent-")
        case (
            ControllersAreKilled()
            | ApiServerIsKilled()
            | TwoLeaders()
            | LeaderIsPaused()
            | ShardIsPaused()
            | HubIsSuspended()
            | HubIsRestored()
            | CutOff()
        ):
            return CONTROLLERS
        case Fault():
            return step.member
        case Rejoin() | Drain() | Meddle() | Autoscale() | Squat() | Own() | RestartPod():
            return step.cluster
        case _:
            return ""


def _windows(step: AnyStep) -> Iterator[tuple[str, Window]]:
    """Windows by party; `agents` are all of them, and `members` all members."""
    match step:
        case Storm():
            yield _party(step.who, step.whom), _storm(step)
        case Partition():
            yield _party(step.who, step.whom), _break(step)
        case ApiServerIsKilled():
            yield CONTROLLERS, _break(step)
            yield "agents", _break(step)
        case HubIsRestored():
            yield CONTROLLERS, Window(step.down_at, step.ends_at + RESUME_SECONDS)
            yield "agents", Window(step.down_at, step.back_at + RESUME_SECONDS)
        case LeaderIsPaused() | ShardIsPaused():
            late = step.pause_seconds + RESUME_SECONDS
            yield CONTROLLERS, Window(step.at, step.ends_at + late, late)
        case HubIsSuspended():
            late = step.lasts + RESUME_SECONDS
            yield CONTROLLERS, Window(step.at, step.ends_at + late, late)
        case CutOff():
            yield "members", _break(step)
        case MemberFlaps():
            yield step.member, Window(step.at, step.ends_at + step.period + RESUME_SECONDS)
        case MemberHangs():
            yield step.member, Window(step.at, step.ends_at + RESUME_SECONDS)
        case MemberIsSlow():
            late = min(3 * step.seconds, 3 * ANSWER_SECONDS)
            yield step.member, Window(step.at, step.ends_at + late, late)
        case (
            MemberStops() | MemberIsKilled() | MemberIsUnready() | MemberLosesData() | MemberComesBackOld()
            | MemberShrinks() | NodesAreCordoned() | MemberRefusesWrites() | MemberLies()
            | AgentIsKilled() | ControllersAreKilled() | TwoLeaders() | ClockIsWrong() | UserStep()
        ):  # fmt: skip
            return
        case _:
            assert_never(step)


def _party(who: str, whom: str) -> str:
    """Party whose work is late when `who` does not reach `whom`."""
    if who.startswith("agent-"):
        return who.removeprefix("agent-")
    return CONTROLLERS if whom == "control-plane" else whom


def _break(step: Fault) -> Window:
    return Window(step.at, step.ends_at + RESUME_SECONDS)


def _storm(step: Storm) -> Window:
    """Lines come late one behind the other; a stream that breaks is resumed; what fails is tried again, and again."""
    late = BACKLOG * (step.lag_seconds + step.jitter_seconds)
    if step.breaks or step.break_at or step.rate:
        late += RESUME_SECONDS
    if step.rate:
        waits = ANSWER_SECONDS if {"lost", "unanswered"} & set(step.mishaps) else 0.0
        late += sum(waits + pause for pause in _pauses(step.rate))
    return Window(step.at, step.ends_at + late, late)


def _pauses(rate: float) -> Iterator[float]:
    """Pauses after each of the requests that fail in a row, with bad luck, where this share of them fails."""
    for failed in range(math.ceil(math.log(BAD_LUCK) / math.log(min(rate, WORST_RATE)))):
        yield min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**failed)
