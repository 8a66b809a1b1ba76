"""Text of `leeward status`: what needs somebody, what will count soon, then the tables; at most 100 columns.

Everything that others have named is made printable where it is put into a line, so that no line can be forged. No
meaning is in colour alone, and without a terminal there is none.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from kubeapi.codec import render_yaml
from leeward.app.local import CONTROL_PLANE
from leeward.app.local.status import ProcessesStatus, with_components
from leeward.cli.proposals import for_same_fleet, quoted_for_same_fleet
from leeward.cli.tables import printable, render_table
from leeward.cli.text_lines import COLUMNS, NEEDS_SOMEBODY, SOON, UNSEEN, cut, headline, paragraph
from leeward.core.eviction.held_reasons import HeldReason
from leeward.operations.clusters import ClusterRow, ClusterState
from leeward.operations.findings import Finding, Severity
from leeward.operations.sentences import counted, full_moment, moment, span
from leeward.operations.status import FleetStatus

MOST_LINES = 4
"""Most lines of one sentence: what is longer is whole with `-o json`."""
MARKS = {Severity.NEEDS_SOMEBODY: NEEDS_SOMEBODY, Severity.SOON: SOON}
_CLUSTER_HEADER = ("CLUSTER", "STATE", "SINCE", "FOR", "CORES", "OF", "REPLICAS", "APPS", "NOTE")
_CLUSTER_FIGURES = (3, 4, 5, 6, 7)
_SHORTEST_NOTE = 12
_WHY_NOT_EVICTED = {
    HeldReason.DELETION_SUPPRESSED: "suppressDeletion is set",
    HeldReason.NOTHING_TO_GAIN: "a move would not help",
    HeldReason.RUN_UNDER_WAY: "the run of a Job would begin again elsewhere",
    HeldReason.SHARED_RESOURCE: "others would lose what they keep there",
    HeldReason.VOLUMES_STAY: "volumes cannot move",
    HeldReason.WAITING_FOR_TURN: "others leave first",
}


@dataclass(frozen=True, slots=True)
class Report:
    """One look. `fleet` is None when the control plane could not be asked, and `problem` says why.

    `own` are the processes, where the fleet is one of this machine.
    """

    name: str
    fleet: FleetStatus | None
    own: ProcessesStatus | None = None
    problem: str = ""

    @property
    def is_down(self) -> bool:
        """Tells whether the control plane is one of this machine that does not run."""
        components = self.own.components if self.own is not None else ()
        return any(component.name == CONTROL_PLANE and component.state == "stopped" for component in components)

    @property
    def findings(self) -> list[Finding]:
        seen = self.fleet.findings if self.fleet is not None else []
        told = CONTROL_PLANE if self.problem else ""
        components = self.own.components if self.own is not None else ()
        found = with_components(seen, components, told)
        return [
            msgspec.structs.replace(
                finding, details=tuple(map(quoted_for_same_fleet, finding.details)), next=for_same_fleet(finding.next)
            )
            for finding in found
        ]

    def render(self, output: str) -> str:
        match output:
            case "json":
                return json.dumps(self.plain(), indent=2)
            case "yaml":
                return render_yaml(self.plain()).rstrip("\n")
            case _:
                return "\n".join(_lines(self))

    def plain(self) -> dict[str, Any]:
        """Plain form for machines."""
        seen: dict[str, Any] = {"clusters": None} if self.fleet is None else msgspec.to_builtins(self.fleet)
        own: dict[str, Any] = {} if self.own is None else msgspec.to_builtins(self.own)
        findings = {"findings": msgspec.to_builtins(self.findings)}
        return {"controlPlane": self.name, "problem": self.problem, **own, **seen, **findings}

    def essence(self) -> object:
        """Part of it that is another when something has changed, and not only because time has passed."""
        plain = self.plain()
        told = [(finding.about, finding.severity) for finding in self.findings]
        return {key: value for key, value in plain.items() if key not in ("asOf", "findings")}, told


def _lines(report: Report) -> Iterator[str]:
    now = report.fleet.as_of if report.fleet is not None else datetime.now(UTC)
    yield f"{printable(report.name)}, as of {full_moment(now)}"
    yield ""
    if report.problem:
        yield from headline(NEEDS_SOMEBODY, report.problem, MOST_LINES)
    for finding in report.findings:
        yield from _finding(finding)
    if report.fleet is not None:
        yield from _fleet(report, report.fleet)
    if report.own is not None:
        yield ""
        yield from _indented(_components(report.own))


def _finding(finding: Finding) -> Iterator[str]:
    yield from headline(MARKS[finding.severity], finding.sentence, MOST_LINES)
    for detail in filter(None, (*finding.details, finding.next)):
        is_command = detail.startswith("kubectl ")
        yield from (f"    {printable(detail)}",) if is_command else paragraph(detail, "    ", "      ")


def _fleet(report: Report, state: FleetStatus) -> Iterator[str]:
    for unseen in state.unseen:
        yield from headline(UNSEEN, f"could not be seen: {unseen}", MOST_LINES)
    if not report.findings and not state.unseen:
        ready = sum(row.ready == "True" for row in state.clusters or ())
        yield f"  all is well: {ready} of {counted(len(state.clusters or ()), 'cluster')} ready"
    if remarks := "; ".join(_remarks(state)):
        yield from headline(" ", remarks, MOST_LINES)
    yield ""
    if state.clusters:
        yield from _indented(_clusters(state.clusters, state.as_of))
    else:
        yield "  clusters: unknown" if state.clusters is None else "  clusters: none has joined"
    if state.applications is not None and state.replicas is not None:
        yield ""
        led = f"; {', '.join(map(printable, state.leading))} at work" if state.leading else ""
        yield f"  {counted(state.applications, 'application')}, {counted(state.replicas, 'replica')}{led}"


def _remarks(state: FleetStatus) -> Iterator[str]:
    """Remarks that harm nobody."""
    for reason, why in _WHY_NOT_EVICTED.items():
        if found := [held for held in state.held if held.reason == reason]:
            kind, _, name = found[0].workload.partition(" ")
            where = f" -n {found[0].namespace}" if found[0].namespace else ""
            command = for_same_fleet(f"leeward explain {kind.lower()}/{name.rpartition('/')[2]}{where}")
            see = f"{'see' if len(found) == 1 else 'see for example'} `{command}`"
            who = counted(len(found), "application is", "applications are")
            yield f"{who} not evicted, because {why} ({reason}): {see}"
    yield from state.notes
    if state.brake is not None and not state.brake.engaged and not state.brake.overruled:
        yield f"the brake is not engaged{f': {state.brake.message}' if state.brake.message else ''}"


def _clusters(rows: Sequence[ClusterRow], now: datetime) -> str:
    cells = [_cluster_cells(row, now) for row in rows]
    taken = [max(len(printable(row[i])) for row in (_CLUSTER_HEADER, *cells)) for i in range(len(_CLUSTER_HEADER) - 1)]
    room = max(_SHORTEST_NOTE, COLUMNS - 2 - sum(taken) - 2 * len(taken))
    cells = [(*row[:-1], cut(printable(row[-1]), room)) for row in cells]
    return render_table(_CLUSTER_HEADER, cells, figures=_CLUSTER_FIGURES, gap=2)


def _cluster_cells(row: ClusterRow, now: datetime) -> tuple[str, ...]:
    return (
        row.name,
        row.state.value,
        moment(row.since, now) if row.since else "",
        span((now - row.since).total_seconds()) if row.since else "",
        _figure(row.cores_allocated),
        _figure(row.cores),
        str(row.replicas) if row.state is not ClusterState.UNREADABLE else "",
        str(row.applications) if row.state is not ClusterState.UNREADABLE else "",
        row.note,
    )


def _figure(number: float | None) -> str:
    return "" if number is None else f"{number:.1f}"


def _components(own: ProcessesStatus) -> str:
    header = ("COMPONENT", "STATE", "PID", "PORT")
    rows = [
        (
            component.name,
            f"{component.state} ({component.faults})" if component.faults else component.state,
            str(component.pid or ""),
            str(component.port or ""),
        )
        for component in own.components
    ]
    return f"{render_table(header, rows, gap=2)}\n\ndata directory: {printable(own.data_dir)}\ntiming: {own.timing}"


def _indented(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {line}" if line else ""
