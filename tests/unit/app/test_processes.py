import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from leeward.app.local import processes
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import Layout
from leeward.app.local.processes import ProcessRecord, State
from leeward.app.local.starting import stop_fleet

SLEEP = shutil.which("sleep") or "sleep"
SHELL = shutil.which("sh") or "sh"


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    layout = Layout(tmp_path)
    yield layout
    processes.kill(layout, processes.remembered_components(layout))


def _spawn_sleep(layout: Layout, component: str) -> ProcessRecord:
    return processes.spawn(layout, component, [SLEEP, "60"], {})


def test_a_process_runs_in_a_session_of_its_own_until_it_is_terminated(layout: Layout) -> None:
    record = _spawn_sleep(layout, "member1")
    assert processes.find_process(layout, "member1") == record
    assert os.getsid(record.pid) == record.pid
    processes.terminate(layout, ["member1"])
    assert processes.state_of(layout, "member1") is State.STOPPED
    assert processes.remembered_components(layout) == ()


def test_a_process_keeps_nothing_open_that_this_one_was_given(layout: Layout) -> None:
    """Or `leeward up --detach` in a pipeline would end for nobody who reads on."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    _spawn_sleep(layout, "member1")
    os.close(writing)
    os.set_blocking(reading, False)
    assert os.read(reading, 1) == b"", "the end of what is read, at once"
    os.close(reading)


def test_a_process_that_cannot_be_remembered_is_ended(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it would keep the port and the store of a component that no verb finds."""
    records = list[ProcessRecord]()

    def on_a_full_disk(_: Path, content: bytes) -> None:
        records.append(msgspec.json.decode(content, type=ProcessRecord))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(processes, "write_file", on_a_full_disk)
    with pytest.raises(FleetError, match=r"No space left on device; member1 was not started"):
        _spawn_sleep(layout, "member1")
    (record,) = records
    assert processes.state_of_process(record) is State.STOPPED


def test_a_process_that_was_killed_is_gone_and_leaves_no_zombie(layout: Layout) -> None:
    record = _spawn_sleep(layout, "member1")
    processes.kill(layout, ["member1"])
    assert not Path(f"/proc/{record.pid}").exists()


def test_a_paused_process_is_resumed(layout: Layout) -> None:
    _spawn_sleep(layout, "member1")
    processes.pause(layout, "member1")
    assert processes.state_of(layout, "member1") is State.PAUSED
    processes.resume(layout, "member1")
    assert processes.state_of(layout, "member1") is State.RUNNING


def test_a_paused_process_is_terminated_too(layout: Layout) -> None:
    _spawn_sleep(layout, "member1")
    processes.pause(layout, "member1")
    processes.terminate(layout, ["member1"])
    assert processes.state_of(layout, "member1") is State.STOPPED


def test_a_process_that_ignores_the_request_is_killed(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TERMINATE_SECONDS", 0.05)
    script = f'trap "" TERM; touch {layout.root}/trapped; while :; do {SLEEP} 0.01; done'
    processes.spawn(layout, "member1", [SHELL, "-c", script], {})
    while not (layout.root / "trapped").exists():
        os.sched_yield()
    processes.terminate(layout, ["member1"])
    assert processes.state_of(layout, "member1") is State.STOPPED


def test_a_recycled_process_id_is_never_signalled(layout: Layout) -> None:
    innocent = _spawn_sleep(layout, "innocent")
    stale = ProcessRecord(innocent.pid, innocent.start_time - 1)
    layout.process_file("member1").write_bytes(msgspec.json.encode(stale))
    processes.terminate(layout, ["member1"])
    assert processes.state_of(layout, "innocent") is State.RUNNING
    assert processes.remembered_components(layout) == ("innocent",)


def test_what_does_not_run_cannot_be_paused(layout: Layout) -> None:
    with pytest.raises(FleetError, match="member1 does not run: start it first"):
        processes.pause(layout, "member1")


def test_stopping_what_does_not_run_does_nothing(layout: Layout) -> None:
    processes.terminate(layout, ["member1"])
    processes.kill(layout, ["member1"])


def test_output_goes_to_the_log_of_the_component(layout: Layout) -> None:
    for line in ("first", "second"):
        processes.spawn(layout, "member1", [SHELL, "-c", f"echo {line} >&2"], {})
        while processes.find_process(layout, "member1") is not None:
            os.sched_yield()
    assert layout.log("member1").read_text() == "first\nsecond\n"


def test_an_old_report_of_readiness_is_gone_when_a_process_starts(layout: Layout) -> None:
    layout.run.mkdir()
    layout.ready_file("member1").touch()
    _spawn_sleep(layout, "member1")
    assert not layout.ready_file("member1").exists()


def test_one_damaged_process_file_keeps_no_other_process_running(layout: Layout) -> None:
    first, last = _spawn_sleep(layout, "control-plane"), _spawn_sleep(layout, "member3")
    layout.process_file("member1").write_text("{")
    layout.process_file("member2").mkdir()
    with pytest.raises(
        FleetError, match=r"member1\.json is damaged .*member2\.json is damaged .*: control-plane, member3"
    ):
        stop_fleet(layout)
    assert {processes.state_of_process(record) for record in (first, last)} == {State.STOPPED}
    assert processes.remembered_components(layout) == ("member1", "member2"), "nobody forgets what may run"
    layout.process_file("member1").unlink()
    layout.process_file("member2").rmdir()
    assert stop_fleet(layout) == []


def test_a_damaged_process_file_is_named(layout: Layout) -> None:
    layout.run.mkdir()
    layout.process_file("member1").write_text("{")
    with pytest.raises(FleetError, match=r"member1\.json is damaged"):
        processes.find_process(layout, "member1")
    layout.process_file("member1").unlink()
