"""Two schedulers as real processes beside a control plane that has none: one works, and is stopped in the middle."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from kubeapi.loop.randomness import Randomness
from leeward.app.local.ports import pick_port
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 60.0
LEASE = ("--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")

pytestmark = [pytest.mark.processes, needs_kubectl]


class Scheduler:
    """One replica, which serves its probes on a port of its own."""

    def __init__(self, fleet: Fleet, log: Path) -> None:
        port = pick_port(Randomness())
        self.address = f"http://127.0.0.1:{port}"
        self.log = log
        serving = [f"--{what}-bind-address=127.0.0.1:{port}" for what in ("metrics", "health-probe")]
        command = [sys.executable, "-m", "leeward.cli", "scheduler", "--kubeconfig", str(fleet.kubeconfig)]
        with log.open("wb") as file:
            self.process = subprocess.Popen([*command, *serving, *LEASE], stdout=file, stderr=file)

    @property
    def has_led(self) -> bool:
        return "leads karmada-scheduler" in self.log.read_text()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=SECONDS) as response:
            return response.read().decode()

    def answers(self, path: str) -> bool:
        try:
            return bool(self.get(path))
        except OSError:
            return False


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[Fleet]:
    with running_fleet(
        tmp_path / "fleet", "--member", "member1", "--member", "member2", "--controllers=*,-scheduler"
    ) as running:
        yield running


@pytest.fixture
def schedulers(fleet: Fleet, tmp_path: Path) -> Generator[tuple[Scheduler, Scheduler]]:
    """The first leads."""
    first = Scheduler(fleet, tmp_path / "first.log")
    fleet.eventually(lambda: first.has_led, "the first scheduler leads")
    second = Scheduler(fleet, tmp_path / "second.log")
    try:
        yield first, second
    finally:
        for scheduler in (first, second):
            scheduler.process.send_signal(signal.SIGCONT)
            scheduler.process.terminate()
            assert scheduler.process.wait(timeout=SECONDS) == 0, scheduler.log.read_text()


def holder(fleet: Fleet) -> str:
    return fleet.get("lease", "karmada-scheduler", "-n", "karmada-system")["spec"]["holderIdentity"]


def test_a_scheduler_that_is_paused_is_replaced_and_stands_back_when_it_resumes(
    fleet: Fleet, schedulers: tuple[Scheduler, Scheduler]
) -> None:
    first, second = schedulers
    fleet.eventually(lambda: first.answers("/readyz") and second.answers("/readyz"), "both are ready, leader or not")
    before = holder(fleet)
    first.process.send_signal(signal.SIGSTOP)
    fleet.kubectl("create", "-f", "-", stdin=(EXAMPLES / "divided.yaml").read_text())
    fleet.eventually(lambda: second.has_led, "the second takes over")
    fleet.eventually(lambda: fleet.exists("resourcebinding", "nginx-deployment"), "the binding is there")
    fleet.eventually(lambda: fleet.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, "placed")

    first.process.send_signal(signal.SIGCONT)
    fleet.eventually(lambda: "has lost karmada-scheduler" in first.log.read_text(), "the first notices")
    assert holder(fleet) != before
    events = json.loads(fleet.kubectl("get", "events", "-o", "json"))["items"]
    scheduled = [e for e in events if e["reason"] == "ScheduleBindingSucceed"]
    told = {event["involvedObject"]["kind"]: event["count"] for event in scheduled}
    assert told == {"ResourceBinding": 1, "Deployment": 1}
    assert 'karmada_scheduler_schedule_attempts_total{result="success"' in second.get("/metrics")
    metric = 'leader_election_master_status{name="karmada-scheduler"}'
    fleet.eventually(lambda: f"{metric} 0.0" in first.get("/metrics"), "the first says that it does not lead")
    fleet.eventually(lambda: f"{metric} 1.0" in second.get("/metrics"), "the second says that it leads")
