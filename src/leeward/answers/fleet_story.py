"""Story of a whole fleet at one instant: its headline as one sentence, and what needs somebody, is so now, and comes.

Everything follows from rows, outages and settings that were seen; nothing is decided anew. What needs somebody comes
first, then what has an instant, in the order of these.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum

import msgspec

from leeward.answers.fleet_state import FleetState
from leeward.answers.next_steps import threshold_steps
from leeward.api.meta import find_condition
from leeward.api.names import LOSS_COVERED_CONDITION
from leeward.api.outage import ClusterOutage
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.eviction.blocked_evictions import why_braked
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.loss_coverage import CoverageReason
from leeward.core.placement.cause import cause_in
from leeward.core.wording import listed
from leeward.operations.applications import NEEDS_SOMEBODY, SETTLED, ApplicationRow, RowState, ServiceLevel
from leeward.operations.clusters import ClusterRow, ClusterState
from leeward.operations.outage_story import GONE, gone_since, headline_of, is_running, return_to_come, taint_to_come
from leeward.operations.sentences import counted, span

MOST_ROWS, MOST_REASONS, MOST_NAMED = 5, 3, 3
"""Rows of events, present and to come; reasons that are told, each once; applications that are named with one."""
_LOST = (ClusterState.NOT_READY, ClusterState.UNKNOWN)


class FleetMood(Enum):
    """State of a fleet, worst first; NEEDS_SOMEBODY and what is before it asks for a person. HIDDEN: nobody may say."""

    BRAKED = "Braked"
    NEEDS_SOMEBODY = "NeedsSomebody"
    OUTAGE = "Outage"
    FAILING = "Failing"
    WELL = "Well"
    EMPTY = "Empty"
    HIDDEN = "Hidden"


class ComingWord(Enum):
    """Subject of a line about what is and what comes."""

    HELD = "Held"
    NOT_PLACED = "NotPlaced"
    HINDERED = "Hindered"
    FAILING = "Failing"
    MOVING = "Moving"
    DUE = "Due"
    TO_COME = "ToCome"
    HARMLESS = "Harmless"
    """Hindered, and whole all the same."""


class ComingLine(msgspec.Struct, frozen=True, rename="camel"):
    """`at` is None for what has no instant; `about` is `application/KEY`, `cluster/NAME` or `outage/NAME`."""

    at: datetime | None
    word: ComingWord
    sentence: str
    about: str = ""


class FleetStory(msgspec.Struct, frozen=True, rename="camel"):
    mood: FleetMood
    headline: str
    detail: str
    coming: list[ComingLine]


class SeenRows(msgspec.Struct, frozen=True):
    """The rows of clusters and, by state and key, of applications, of which a story is told. `replicas` are all
    assigned ones.

    `sees_clusters`: whether the clusters may be seen; without that nothing is said of them.
    """

    clusters: Sequence[ClusterRow]
    applications: Mapping[RowState, Mapping[str, ApplicationRow]]
    number: int
    replicas: int
    brake_message: str = ""
    sees_clusters: bool = True

    def of(self, state: RowState) -> Mapping[str, ApplicationRow]:
        return self.applications.get(state, {})

    def serving(self, level: ServiceLevel) -> int:
        """Number of applications with this level of service."""
        return sum(row.serving is level for rows in self.applications.values() for row in rows.values())

    @property
    def needing(self) -> list[ApplicationRow]:
        """Rows that need somebody, worst first."""
        return [row for state in RowState if state in NEEDS_SOMEBODY for row in self.of(state).values()]


def fleet_story(state: FleetState, rows: SeenRows) -> FleetStory:
    running = sorted((each for each in state.recorded.outages if is_running(each)), key=lambda each: each.spec.since)
    mood = _mood(state, rows, running)
    headline, detail = _headline(state, rows, running, mood)
    if (said := _service(rows)) and mood in (FleetMood.BRAKED, FleetMood.OUTAGE, FleetMood.NEEDS_SOMEBODY):
        headline, detail = said, f"{headline}." if mood is FleetMood.BRAKED else f"{headline}. {detail}"
    return FleetStory(mood, headline, detail, list(_coming(state, rows, running)))


def _service(rows: SeenRows) -> str:
    """`15 of 28 applications are down, 6 serve with fewer replicas`; empty where all serve with all that they have."""
    nobody, fewer = rows.serving(ServiceLevel.NOBODY), rows.serving(ServiceLevel.FEWER)
    total = counted(rows.number, "application")
    if not nobody:
        return f"{fewer} of {total} {'serves' if fewer == 1 else 'serve'} with fewer replicas" if fewer else ""
    more = f", {fewer} {'serves' if fewer == 1 else 'serve'} with fewer replicas" if fewer else ""
    return f"{nobody} of {total} {'is' if nobody == 1 else 'are'} down{more}"


def _mood(state: FleetState, rows: SeenRows, running: Sequence[ClusterOutage]) -> FleetMood:
    if not rows.sees_clusters:
        return FleetMood.NEEDS_SOMEBODY if rows.needing else FleetMood.HIDDEN
    if not rows.clusters:
        return FleetMood.EMPTY
    if state.recorded.brake.engaged and not state.recorded.brake.overruled:
        return FleetMood.BRAKED
    if any(row.state in _LOST for row in rows.clusters) or running:
        return FleetMood.OUTAGE
    if rows.needing or _unwell(rows):
        return FleetMood.NEEDS_SOMEBODY
    return FleetMood.FAILING if _failing(rows) else FleetMood.WELL


def _unwell(rows: SeenRows) -> list[ClusterRow]:
    return [row for row in rows.clusters if row.state in (ClusterState.UNREADABLE, ClusterState.UNCOLLECTED)]


def _failing(rows: SeenRows) -> list[str]:
    return [row.name for row in rows.clusters if row.state is ClusterState.FAILING]


def _headline(state: FleetState, rows: SeenRows, running: Sequence[ClusterOutage], mood: FleetMood) -> tuple[str, str]:
    match mood:
        case FleetMood.EMPTY:
            return "No cluster has joined", "`leeward join NAME` joins one"
        case FleetMood.HIDDEN:
            return "You have no right to see the clusters", f"You can see {counted(rows.number, 'application')}."
        case FleetMood.BRAKED:
            dead = sum(map(looks_dead, state.clusters.values()))
            said = f"{dead} of {counted(len(rows.clusters), 'cluster')} seem to be down: the brake stops evictions"
            return said, rows.brake_message or why_braked(state.recorded.brake.reason)
        case FleetMood.OUTAGE:
            return _down(state, rows, running)
        case FleetMood.NEEDS_SOMEBODY:
            return _needing(rows)
        case FleetMood.FAILING:
            names = _failing(rows)
            return f"{shortened(names)} {'is' if len(names) == 1 else 'are'} failing", _in_place(rows)
        case FleetMood.WELL:
            return _well(rows, is_whole=not state.recorded.unseen), " ".join(_calm(state, rows))


def _down(state: FleetState, rows: SeenRows, running: Sequence[ClusterOutage]) -> tuple[str, str]:
    """`fra-2 has been down for 11 min`, and what has become of its applications."""
    lost = {row.name: row.since for row in rows.clusters if row.state in _LOST}
    lost |= {each.spec.cluster: each.status.failed_at or each.spec.since for each in running}
    names, begun = sorted(lost), min(filter(None, lost.values()), default=None)
    since = "" if begun is None else f" for {span((state.as_of - begun).total_seconds())}"
    verb = "has been down" if len(names) == 1 else "have been down"
    return f"{shortened(names)} {verb}{since}", _became(rows, running)


def _became(rows: SeenRows, running: Sequence[ClusterOutage]) -> str:
    moved, total = (sum(getattr(each.status, name) for each in running) for name in ("moved", "applications"))
    needing = len(rows.needing)
    whose = "its" if len(running) == 1 else "their"
    run = "runs" if moved == 1 else "run"
    parts = [f"{moved} of {whose} {counted(total, 'application')} {run} elsewhere."] if total else []
    if running and not total:
        gone = sum(map(gone_since, running))
        parts.append(f"{counted(gone, 'application')} {GONE}." if gone else "No application was there.")
    if needing:
        parts.append(f"{counted(needing, 'application needs', 'applications need')} somebody.")
    parts.append("Nothing needs you." if not needing else "Others need nothing." if total > needing else "")
    return " ".join(filter(None, parts))


def _needing(rows: SeenRows) -> tuple[str, str]:
    needing, unwell = rows.needing, _unwell(rows)
    if not needing:
        names = [row.name for row in unwell]
        return f"{shortened(names)} cannot be looked into", unwell[0].note
    if len(needing) == 1:
        return f"{titled(needing[0])} needs somebody", needing[0].message
    return f"{counted(len(needing), 'application')} need somebody", f"{titled(needing[0])}: {needing[0].message}"


def _well(rows: SeenRows, *, is_whole: bool) -> str:
    """Sentence on all there are, or of those that could be read."""
    states = Counter(row.state for row in rows.clusters)
    ready = states.pop(ClusterState.READY, 0)
    usable = (ClusterState.CORDONED, ClusterState.DRAINED, ClusterState.DRAINING, ClusterState.HELD_DOWN)
    well = ready + sum(states[each] for each in usable)
    number = len(rows.clusters)
    whole = "All" if well == number and number > 1 else f"{well} of"
    those = "" if is_whole else " that could be read"
    is_one = number == well == 1
    said = f"The only cluster{those} is ready" if is_one else f"{whole} {counted(number, 'cluster')}{those} are ready"
    others = [f"{states[each]} {each.value.lower()}" for each in ClusterState if states[each]]
    return ", ".join([said, *others])


def _calm(state: FleetState, rows: SeenRows) -> Iterator[str]:
    yield _in_place(rows)
    uncovered = [
        cluster.name
        for cluster in state.clusters.values()
        if (found := find_condition(cluster.status.conditions, LOSS_COVERED_CONDITION)) is not None
        and found.reason == CoverageReason.ROOM_MISSING.value
    ]
    told = [c for c in state.clusters.values() if find_condition(c.status.conditions, LOSS_COVERED_CONDITION)]
    if told and len(told) == len(state.clusters) > 1:
        but = f", except {shortened(sorted(uncovered))}" if uncovered else ""
        yield f"Any one cluster can be lost{but}."
    past = [each for each in state.recorded.outages if not is_running(each)]
    if past:
        yield f"Last outage: {headline_of(max(past, key=lambda each: each.spec.since), state.as_of)}."


def _in_place(rows: SeenRows) -> str:
    where = "all in place" if not _away(rows) else f"{_away(rows)} not in place"
    return f"{counted(rows.number, 'application')}, {counted(rows.replicas, 'replica')}, {where}."


def _away(rows: SeenRows) -> int:
    there = (*SETTLED, RowState.KEPT)
    return sum(len(of_state) for state, of_state in rows.applications.items() if state not in there)


def _coming(state: FleetState, rows: SeenRows, running: Sequence[ClusterOutage]) -> Iterator[ComingLine]:
    lines = [*_thresholds(state), *_moving(state, rows), *_due(state, rows), *_of_outages(state, running)]
    last = datetime.max.replace(tzinfo=state.as_of.tzinfo)
    lines.sort(key=lambda line: line.at or last)
    needs = list(_needs(rows, MOST_REASONS if lines else MOST_ROWS - 1))
    yield from needs
    room = MOST_ROWS - len(needs)
    shown = len(lines) if len(lines) <= room else room - 1
    yield from lines[:shown]
    if rest := lines[shown:]:
        said = f"{counted(len(rest), 'more step is', 'more steps are')} to come: " + "; ".join(
            dict.fromkeys(line.sentence for line in rest[:MOST_NAMED])
        )
        instants = [line.at for line in rest if line.at is not None and line.at > state.as_of]
        yield ComingLine(min(instants, default=None), ComingWord.TO_COME, said, "outages")


def _needs(rows: SeenRows, most: int) -> Iterator[ComingLine]:
    """Each reason once, with the applications that share it: the worst first, then those that most share."""
    groups = defaultdict[tuple[ComingWord, str], list[tuple[str, ApplicationRow]]](list)
    for state in (state for state in RowState if state in NEEDS_SOMEBODY):
        for key, row in rows.of(state).items():
            groups[_need(state, row)].append((key, row))
    words = list(ComingWord)
    in_order = sorted(groups.items(), key=lambda group: (words.index(group[0][0]), -len(group[1])))
    for (word, message), found in in_order[:most]:
        named = shortened([titled(row) for _, row in found])
        yield ComingLine(None, word, f"{named}: {message}", f"application/{found[0][0]}" if len(found) == 1 else "")
    if rest := sum(len(found) for _, found in in_order[most:]):
        word = in_order[most][0][0]
        yield ComingLine(None, word, f"{counted(rest, 'more application')}, for other reasons")


def _need(state: RowState, row: ApplicationRow) -> tuple[ComingWord, str]:
    """Word and reason. The brake is one reason, whatever it keeps where."""
    if state is RowState.HINDERED and row.serving is ServiceLevel.WHOLE:
        return ComingWord.HARMLESS, row.message
    word = ComingWord.HELD if row.reason == HeldReason.BRAKE_ENGAGED else _NEEDS[state]
    return word, cause_in(row.reason, row.message)


_NEEDS = {
    RowState.HELD: ComingWord.HELD,
    RowState.NOT_PLACED: ComingWord.NOT_PLACED,
    RowState.HINDERED: ComingWord.HINDERED,
}


def _thresholds(state: FleetState) -> Iterator[ComingLine]:
    for cluster in state.clusters.values():
        for step in threshold_steps(state, cluster):
            yield ComingLine(step.at, ComingWord.FAILING, step.sentence, f"cluster/{cluster.name}")


def _moving(state: FleetState, rows: SeenRows) -> Iterator[ComingLine]:
    moving = list(rows.of(RowState.MOVING).values())
    if moving:
        named = ", ".join(f"{titled(row)} ({row.ready} of {row.wanted})" for row in moving[:MOST_NAMED])
        more = f" and {len(moving) - MOST_NAMED} more" if len(moving) > MOST_NAMED else ""
        waits = "waits" if len(moving) == 1 else "wait"
        said = f"{counted(len(moving), 'application')} {waits} for healthy replacements: {named}{more}"
        yield ComingLine(state.as_of, ComingWord.MOVING, said)


def _due(state: FleetState, rows: SeenRows) -> Iterator[ComingLine]:
    """Lines that tell who leaves when, by what the bindings say; after now: what is past is about to happen."""
    due = Counter((row.next_at, row.next) for row in rows.of(RowState.DUE).values() if row.next_at is not None)
    for (at, what), number in due.items():
        verb = what if number == 1 else what.replace("leaves", "leave", 1)
        yield ComingLine(at, ComingWord.DUE, f"{counted(number, 'application')} {verb}")


def _of_outages(state: FleetState, running: Sequence[ClusterOutage]) -> Iterator[ComingLine]:
    """The taint that is to come, and the return. Who leaves when is told by the bindings themselves."""
    for outage in running:
        for line in (taint_to_come(outage, state.as_of, state.settings), return_to_come(outage)):
            if line is not None:
                said = line.sentence if line.at is None else f"{outage.spec.cluster}: {line.sentence}"
                yield ComingLine(line.at, ComingWord.TO_COME, said, f"outage/{outage.name}")


def titled(row: ApplicationRow) -> str:
    return "/".join(filter(None, (row.namespace, row.name)))


def shortened(names: Sequence[str]) -> str:
    return f"{', '.join(names[:2])} and {len(names) - 2} more" if len(names) > MOST_NAMED else listed(names)
