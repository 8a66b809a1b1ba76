"""`leeward status`"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local import FleetError
from leeward.cli.connections import Target, ask, operator_options, target_of
from leeward.cli.interrupts import interrupt_on_termination
from leeward.cli.proposals import quoted_for_same_fleet
from leeward.cli.settings import Settings
from leeward.cli.tables import printable

if TYPE_CHECKING:
    from datetime import datetime

    from kubeclient import Client
    from leeward.cli.status_text import Report
    from leeward.operations.orphan_findings import OrphanFindings
    from leeward.operations.status import FleetStatus, Found

WELL, FINDINGS, COULD_NOT_LOOK = 0, 1, 2
"""Exit codes."""
WATCH_SECONDS = 2.0
_TO_THE_TOP = "\x1b[H\x1b[2J"


@click.command()
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", help="The form.")
@click.option("-w", "--watch", is_flag=True, help="Look again and again, and show what has changed, until Ctrl-C.")
@operator_options
@click.pass_obj
def status(settings: Settings, output: str, watch: bool, kubeconfig: Path | None, context: str) -> int:
    """Show what is down and what is wrong first, then clusters and components.

    Exits 0 when all is well, 1 when something needs somebody or will count soon, 2 when it could not look. That the
    control plane of this machine does not run needs somebody.
    """
    if not watch:
        code, text, _ = _look(settings, output, kubeconfig, context, _orphans())
        click.echo(text, err=not text or text.startswith("leeward: "), color=_colours())
        return code
    interrupt_on_termination()
    return _watch(settings, output, kubeconfig, context)


def _watch(settings: Settings, output: str, kubeconfig: Path | None, context: str) -> int:
    """Shows each look that is another than the last; on a terminal in place of it."""
    code, shown, terminal = COULD_NOT_LOOK, None, sys.stdout.isatty() and output == "table"
    orphans = _orphans()
    try:
        while True:
            code, text, essence = _look(settings, output, kubeconfig, context, orphans)
            seen = text if terminal else essence
            if seen != shown:
                click.echo(f"{_TO_THE_TOP if terminal else ''}{text}", color=_colours())
                shown = seen
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        return code


def _orphans() -> "OrphanFindings":
    from leeward.operations.orphan_findings import OrphanFindings

    return OrphanFindings()


def _look(
    settings: Settings, output: str, kubeconfig: Path | None, context: str, orphans: "OrphanFindings"
) -> tuple[int, str, object]:
    """The exit code, the text, and the part of it that counts as a change."""
    try:
        target = target_of(settings, kubeconfig, context)
        report = _report(target, orphans)
    except FleetError as error:
        problem = f"leeward: {printable(str(error))}"
        return COULD_NOT_LOOK, problem, problem
    return _code(report), report.render(output), report.essence()


def _report(target: Target, orphans: "OrphanFindings") -> "Report":
    """Raises: FleetError where there is nothing to be seen at all."""
    from leeward.app.local.status import processes_status
    from leeward.cli.status_text import Report

    own = processes_status(target.layout) if target.layout is not None else None
    try:
        return Report(target.name, ask(target, lambda client: _fleet(client, orphans)), own)
    except FleetError as error:
        if own is None:
            raise
        return Report(target.name, None, own, quoted_for_same_fleet(str(error)))


async def _fleet(client: "Client", orphans: "OrphanFindings") -> "FleetStatus":
    """Raises: OperationFailed, WorldError."""
    from kubeapi.loop import SystemClock
    from leeward.app.member_clients import members_of
    from leeward.app.migration.came_back import find_returned
    from leeward.operations.identities import find_nameless
    from leeward.operations.status import look_at_fleet

    async def find(client: "Client", now: "datetime") -> "Found":
        return await orphans.find(client, members_of(client), now)

    return await look_at_fleet(client, SystemClock(), (find, find_returned, find_nameless))


def _code(report: "Report") -> int:
    state = report.fleet
    if state is None and report.is_down:
        return FINDINGS
    if state is None or state.clusters is None:
        return COULD_NOT_LOOK
    if report.findings:
        return FINDINGS
    return COULD_NOT_LOOK if state.unseen else WELL


def _colours() -> bool | None:
    """None: on a terminal only."""
    return False if os.environ.get("NO_COLOR") else None
