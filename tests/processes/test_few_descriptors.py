"""A fleet of processes that have 256 descriptors each, and somebody who opens connections and says nothing.

    has            the way to the ports of the control plane and of a member
    does           opens more connections to each than it has descriptors
    must not get   a user who is kept out, or a healthy member that is not Ready any more

Holds: S13.
"""

import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from kubeapi.yaml_reading import load_documents
from tests.kubectl import run_command
from tests.processes import test_walkthrough as walkthrough
from tests.processes.fleet import Fleet, needs_kubectl

pytestmark = [pytest.mark.processes, needs_kubectl]
DESCRIPTORS = 256


@contextmanager
def poor_fleet(data_dir: Path) -> Generator[Fleet]:
    fleet = Fleet(data_dir)
    up = [sys.executable, "-m", "leeward.cli", "up", "--timing", "fast", "--detach", "--no-dashboard"]
    few = ["bash", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "-"]
    run_command([*few, *up, "--data-dir", str(data_dir)], False)
    try:
        yield fleet
    finally:
        fleet.leeward("down")


def ports(fleet: Fleet, *clusters: str) -> list[int]:
    config: Any = next(load_documents(fleet.kubeconfig.read_text()))
    servers: dict[str, str] = {each["name"]: each["cluster"]["server"] for each in config["clusters"]}
    return [urlsplit(servers[name]).port or 0 for name in clusters]


@contextmanager
def flooded(to: Sequence[int]) -> Generator[None]:
    with ExitStack() as stack:
        for port in to:
            for _ in range(2 * DESCRIPTORS):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        yield


def test_s13_a_flood_of_idle_connections_keeps_nobody_out_and_takes_no_member(tmp_path: Path) -> None:
    with poor_fleet(tmp_path) as fleet:

        def since() -> dict[str, str]:
            found = fleet.get("clusters")["items"]
            conditions = ((each["metadata"]["name"], c) for each in found for c in each["status"]["conditions"])
            return {
                name: c["lastTransitionTime"] for name, c in conditions if (c["type"], c["status"]) == ("Ready", "True")
            }

        before = since()
        assert set(before) == {"member1", "member2", "member3"}
        for _ in range(3):
            with flooded(ports(fleet, "karmada-apiserver", "member1")):
                assert since() == before
        walkthrough.divided_over(fleet, "member1", "member2")
        assert since() == before


def test_l2_the_walkthrough_runs_with_few_descriptors(tmp_path: Path) -> None:
    """A Push member and a Pull member die and come back; the outage is told from objects that outlive a restart."""
    died = walkthrough.test_a_member_dies_its_replica_moves_and_nothing_moves_back
    with poor_fleet(tmp_path) as fleet:
        died(fleet, "member1", "stop", "start", ("False", "ClusterNotReachable"), walkthrough.NOT_READY)
        died(fleet, "member3", "pause", "resume", ("Unknown", "ClusterStatusUnknown"), walkthrough.UNREACHABLE)
