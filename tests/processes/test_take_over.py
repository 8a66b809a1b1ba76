"""Another hub takes over, on real processes: the hub is killed, its standby goes on with its members, one of which dies
a minute later. The old hub comes back, and harms nobody."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubeapi.loop.randomness import Randomness
from leeward.app.local import processes
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout, agent_of
from leeward.app.local.ports import pick_port
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

EXAMPLES = Path(__file__).parents[2] / "examples"
MEMBERS = ("member1", "member2")


def uid(fleet: Fleet, member: str) -> str:
    return fleet.kubectl(
        "get", "deployment", "nginx", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}", context=member
    )


def uids(fleet: Fleet) -> list[str]:
    return [uid(fleet, member) for member in MEMBERS]


def kill_hub(fleet: Fleet) -> None:
    process = processes.find_process(Layout(fleet.data_dir), CONTROL_PLANE)
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    fleet.eventually(lambda: processes.find_process(Layout(fleet.data_dir), CONTROL_PLANE) is None, "the hub is dead")


def take_copy(source: Fleet, standby: Fleet) -> None:
    """Takes one copy, as over a connection to another machine."""
    command = f"{sys.executable} -m leeward.cli backup - --data-dir {source.data_dir}"
    standby.leeward("standby", "--command", command, "--once")
    assert "s old" in standby.leeward("standby")


def free_port() -> int:
    return pick_port(Randomness())


@contextmanager
def standby_hub(data_dir: Path) -> Generator[Fleet]:
    """Data directory of a standby; a hub that was made of its copy is stopped in the end."""
    hub = Fleet(data_dir)
    try:
        yield hub
    finally:
        if (data_dir / "fleet.json").exists():
            hub.leeward("down")


def test_a_standby_takes_over_and_the_old_hub_comes_back_and_harms_nobody(tmp_path: Path) -> None:
    members = ("--member", "member1", "--member", "member2")
    with running_fleet(tmp_path / "hub1", *members) as first, standby_hub(tmp_path / "hub2") as second:
        first.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
        first.eventually(lambda: all(uids(first)), "it runs in both")
        take_copy(first, second)
        before = f"https://127.0.0.1:{load_fleet(Layout(first.data_dir)).control_plane_port}"
        assert "--hub-before" in second.leeward("take-over", "--yes", fails=True), "the copy may be of another machine"
        assert "still answers" in second.leeward("take-over", "--yes", "--hub-before", before, fails=True)
        kept = uids(first)
        kill_hub(first)
        told = second.leeward("take-over", "--yes", "--hub-before", before)
        assert "generation 1" in told
        assert "members that refuse older hubs: member1, member2" in told
        second.eventually(lambda: all(second.ready(name)[0] == "True" for name in MEMBERS), "both are seen")
        assert uids(first) == kept, "nothing was touched"

        first.leeward("member", "stop", "member1")
        second.eventually(lambda: set(second.assigned("nginx-deployment")) == {"member2"}, "it has failed over", 3)
        first.leeward("up", "--detach", "--no-dashboard", "--port", str(free_port()))
        first.eventually(lambda: "another hub has taken over" in first.leeward("status", fails=True), "it is refused")
        first.kubectl("delete", "deployment", "nginx")
        first.leeward("member", "start", "member1")
        second.eventually(lambda: second.ready("member1")[0] == "True", "member1 is back", 2)
        assert uid(first, "member2") == kept[1], "the user of the old hub has deleted nothing in a member"
        assert "another hub has taken over" in first.leeward("status", fails=True)


def test_an_agent_follows_the_hub_that_took_over_last(tmp_path: Path) -> None:
    with (
        running_fleet(tmp_path / "hub1", "--member", "member1", "--member", "member2=pull") as first,
        standby_hub(tmp_path / "hub2") as second,
    ):
        take_copy(first, second)
        layout, port = Layout(first.data_dir), free_port()
        processes.terminate(layout, [agent_of("member2")])
        first.eventually(lambda: first.ready("member2")[0] == "Unknown", "nothing is heard of it")
        kubeconfig, log = layout.agent_kubeconfig("member2"), (tmp_path / "agent.log").open("wb")
        command = ["agent", "--cluster-name", "member2", "--leader-elect=false", "--metrics-bind-address=0"]
        ways = ["--karmada-kubeconfig", kubeconfig, "--kubeconfig", kubeconfig, "--context", "member2"]
        servers = ["--karmada-servers", f"https://127.0.0.1:{port}", "--health-probe-bind-address=0"]
        servers += ["--cluster-status-update-frequency=1s", "--cluster-lease-duration=4s"]
        started = [sys.executable, "-m", "leeward.cli", *command, *map(str, ways), *servers]
        agent = subprocess.Popen(started, stdout=log, stderr=log)
        try:
            first.eventually(lambda: first.ready("member2")[0] == "True", "it works for the first")
            kill_hub(first)
            before = f"https://127.0.0.1:{load_fleet(layout).control_plane_port}"
            second.leeward("take-over", "--yes", "--port", str(port), "--hub-before", before)
            second.eventually(lambda: "the agent follows it" in (tmp_path / "agent.log").read_text(), "it follows", 3)
            second.eventually(lambda: second.ready("member2")[0] == "True", "member2 is seen by the second", 3)
        finally:
            agent.terminate()
            agent.wait(30)
            log.close()
