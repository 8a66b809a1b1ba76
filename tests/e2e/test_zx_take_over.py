"""The control plane is lost with its etcd: a kube-apiserver on a snapshot becomes the hub, and a member dies. The old
hub comes back, and harms nobody. In the end its machine takes over again, from a snapshot of the second.
"""

import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.e2e.answers import ask
from tests.e2e.applications import BINDING, has_moved_to, place_divided, ready_in, remove
from tests.e2e.fleet import MEMBERS, TIMING, UNSERVED, Fleet
from tests.e2e.program import Program
from tests.e2e.servers import KubeServer
from tests.e2e.test_pull import register
from tests.kubectl import CONTROL_PLANE, Kubectl, run_command
from tests.ports import free_port

pytestmark = pytest.mark.skipif(shutil.which("etcdctl") is None, reason="no etcdctl: apt-get install etcd-client")

ANOTHER_HUB = "another hub has taken over"


class SecondMachine(Kubectl):
    """A kube-apiserver with an etcd of its own and the keys of the first one, and Leeward's components for it."""

    patience_seconds = Fleet.patience_seconds

    def __init__(self, fleet: Fleet) -> None:
        directory, binaries = fleet.directory / "second", fleet.control_plane.binaries
        self.server = KubeServer(CONTROL_PLANE, directory, binaries, workloads=False, keys_of=fleet.control_plane)
        super().__init__(self.server.kubeconfig)
        self._url = f"https://127.0.0.1:{free_port()}"
        port = self._url.rpartition(":")[2]
        serving = ("--bind-address=127.0.0.1", f"--secure-port={port}", f"--url={self._url}")
        self.webhook = self._component("webhook", *serving)
        self.serve = self._component("serve", *TIMING, *UNSERVED)

    def start_controllers(self) -> None:
        self.webhook.start()
        self.eventually(lambda: ask(f"{self._url}/readyz").code == 200, "its webhook answers")
        self.serve.start()

    def leeward(self, *arguments: str, fails: bool = False) -> str:
        command = [sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", str(self.kubeconfig)]
        return run_command(command, fails)

    def stop(self) -> None:
        for program in (self.serve, self.webhook):
            program.stop()
        self.server.stop()

    def kill(self) -> None:
        for program in (self.serve, self.webhook):
            program.kill()
        self.server.kill()

    def _component(self, verb: str, *options: str) -> Program:
        command = [sys.executable, "-m", "leeward.cli", verb, "--kubeconfig", str(self.kubeconfig), *options]
        return Program(f"second-{verb}", command, self.server.directory / f"{verb}.log")


@pytest.fixture
def second(fleet: Fleet) -> Generator[SecondMachine]:
    machine = SecondMachine(fleet)
    try:
        yield machine
    finally:
        machine.stop()


@contextmanager
def followed_agent(fleet: Fleet, other: str) -> Generator[Program]:
    """The agent of member3, which knows both addresses; afterwards it is a Push member again."""
    member = str(fleet.members["member3"].kubeconfig)
    assert "has left" in fleet.leeward("unjoin", "member3", "--cluster-kubeconfig", member)
    identity = register(fleet, "member3")
    agent = fleet.agent("member3", identity, f"--karmada-servers={other}")
    agent.log.unlink(missing_ok=True)
    agent.start()
    try:
        fleet.eventually(lambda: fleet.exists("cluster", "member3") and fleet.is_back("member3"), "member3 has joined")
        yield agent
        assert "has left" in fleet.leeward("unregister", "member3")
    finally:
        agent.stop()
    fleet.join("member3")
    fleet.eventually(lambda: fleet.is_back("member3"), "member3 is a Push member again")


def kill_hub(fleet: Fleet) -> None:
    for program in (fleet.serve, fleet.webhook):
        program.kill()
    fleet.control_plane.kill()


def uids(fleet: Fleet, *members: str) -> list[str]:
    return [fleet.get("deployment", "nginx", context=name)["metadata"]["uid"] for name in members]


def test_a_hub_on_a_snapshot_of_etcd_takes_over_and_gives_back(fleet: Fleet, second: SecondMachine) -> None:
    with followed_agent(fleet, second.server.url) as agent:
        place_divided(fleet, "member1", "member3")
        kept = uids(fleet, "member1", "member3")
        snapshot = fleet.directory / "snapshot.db"
        fleet.control_plane.save_snapshot(snapshot)
        second.server.restore_snapshot(snapshot)
        second.server.start()
        second.server.wait_ready()
        assert "still answers" in second.leeward("take-over", "--yes", fails=True)
        kill_hub(fleet)
        told = second.leeward("take-over", "--yes")
        assert "generation 1" in told
        assert "members that refuse older hubs: member1, member2" in told
        second.start_controllers()
        for name in MEMBERS:
            second.eventually(lambda name=name: second.ready(name)[0] == "True", f"the second sees {name}")
        assert uids(fleet, "member1", "member3") == kept, "nothing was touched"
        second.eventually(lambda: "the agent follows it" in agent.told(), "the agent of member3 follows the second")

        fleet.members["member1"].kill()
        second.eventually(lambda: second.assigned(BINDING) == {"member3": 3}, "it has failed over")
        fleet.eventually(lambda: ready_in(fleet, "member3") == 3, "they run")

        fleet.control_plane.restart()
        fleet.start_webhook()
        fleet.serve.start()
        fleet.eventually(lambda: ANOTHER_HUB in fleet.leeward("status", fails=True), "it is refused")
        fleet.kubectl("delete", "deployment", "nginx")
        fleet.members["member1"].restart()
        second.eventually(lambda: second.ready("member1")[0] == "True", "member1 is back")
        fleet.eventually(lambda: not fleet.exists("deployment", "nginx", context="member1"), "the old copy is removed")
        assert uids(fleet, "member3") == kept[1:], "the user of the old hub has deleted nothing in a member"
        assert ready_in(fleet, "member3") == 3
        assert ANOTHER_HUB in fleet.leeward("status", fails=True)

        kill_hub(fleet)
        second.server.save_snapshot(snapshot.with_name("back.db"))
        second.kill()
        fleet.control_plane.restore_snapshot(snapshot.with_name("back.db"))
        fleet.control_plane.restart()
        assert "generation 2" in fleet.leeward("take-over", "--yes", "--hub-before", second.server.url)
        fleet.start_webhook()
        fleet.serve.start()
        for name in MEMBERS:
            fleet.eventually(lambda name=name: fleet.is_back(name), f"the first sees {name} again")
        assert has_moved_to(fleet, {"member3": 3})
        assert uids(fleet, "member3") == kept[1:]
        remove(fleet)
        fleet.release("member1")
