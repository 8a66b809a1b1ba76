"""Helpers for tests that call a verb of `leeward` in this process: a fleet of one member on disk, a call's output."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from kubeapi.loop.randomness import Randomness
from kubeclient import Client
from leeward.app.local.credentials import issue_credentials
from leeward.app.local.fleet import LocalFleet, Member
from leeward.app.local.layout import Layout
from leeward.app.local.processes import ProcessRecord
from leeward.cli.program import main
from leeward.operations.orphan_findings import OrphanFindings
from leeward.operations.orphans import Reach
from leeward.operations.status import Found

Verb = Callable[..., tuple[int, str, str]]
"""Exit code, stdout and stderr."""


class NoMembers(OrphanFindings):
    """Findings without a member in which to look for orphans (`tests/world/test_orphans.py` does): Clusters only."""

    async def find(self, client: Client, reach: Reach, now: datetime) -> Found:
        return Found()


def fleet_of_one(port: int) -> LocalFleet:
    """LocalFleet with `port` for the control plane."""
    return LocalFleet(port, (Member("member1", "push", 20_001),))


def issued(root: Path, fleet: LocalFleet) -> Layout:
    """A data directory with the keys of `fleet`, and its kubeconfig."""
    layout = Layout(root)
    issue_credentials(layout, fleet, Randomness(1))
    return layout


def call_verb(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return int(end.value.code or 0), captured.out, captured.err


def pretend_to_run(layout: Layout, *components: str) -> None:
    """Has them remembered as this very process, which lives."""
    layout.run.mkdir(exist_ok=True)
    start_time = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    for name in components:
        layout.process_file(name).write_bytes(msgspec.json.encode(ProcessRecord(os.getpid(), start_time)))
