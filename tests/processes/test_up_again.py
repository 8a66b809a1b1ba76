"""`leeward up` after the control plane has died by itself: what somebody stopped stays so."""

import os
import signal
from pathlib import Path

import pytest

from leeward.app.local import processes
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.processes import State
from leeward.app.local.waiting import wait_until
from tests.processes.fleet import running_fleet

pytestmark = pytest.mark.processes

SECONDS = 30


def test_a_member_that_was_stopped_stays_so_until_it_is_started(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    members = ("--member", "member1", "--member", "member2=pull", "--member", "member3=pull")
    with running_fleet(tmp_path, *members) as fleet:
        fleet.leeward("member", "stop", "member2")
        process = processes.find_process(layout, CONTROL_PLANE)
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        assert wait_until(lambda: processes.find_process(layout, CONTROL_PLANE) is None, SECONDS)

        told = fleet.leeward("up", "--detach", "--no-dashboard")
        assert "member2 was stopped, and stays so: `leeward" in told
        assert "member start member2` starts it" in told
        states = {line.split()[0]: line.split()[-1] for line in told.splitlines() if line.startswith("member")}
        assert [states[name] for name in ("member1", "member3")] == ["ready", "ready"]
        for component in ("member2", "member2-agent"):
            assert processes.state_of(layout, component) is State.STOPPED
        fleet.leeward("member", "start", "member2")
        assert processes.state_of(layout, "member2") is State.RUNNING
