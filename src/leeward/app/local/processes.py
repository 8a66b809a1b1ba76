"""Processes of components: started in a session of their own, found again, and ended.

A process is known by its id and its start time (DATA/run/COMPONENT.json), so that another one that got the same id
later is never signalled. A zombie counts as gone: it only waits for its parent to look.
"""

import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path

import msgspec

from kubeapi.files import write_file
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import Layout
from leeward.app.local.logs import open_log
from leeward.app.local.waiting import wait_until

TERMINATE_SECONDS = 5.0
KILL_SECONDS = 5.0
LAST_STREAM = 2


class State(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class ProcessRecord(msgspec.Struct, frozen=True, rename="camel"):
    """`start_time` is in clock ticks since the machine's start, as in `/proc/PID/stat`."""

    pid: int
    start_time: int


ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def spawn(layout: Layout, component: str, command: list[str], environment: Mapping[str, str]) -> ProcessRecord:
    """Starts `command` with its output in the component's log, and remembers it, whatever signal comes meanwhile.

    It keeps nothing open that this process was given: whoever reads from that would wait for as long as it lives.
    Raises: FleetError when it cannot be remembered, and was ended therefore.
    """
    _keep_descriptors()
    layout.run.mkdir(parents=True, exist_ok=True, mode=0o700)
    layout.ready_file(component).unlink(missing_ok=True)
    log = open_log(layout.log(component))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        pid = os.posix_spawn(
            command[0],
            command,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
            setsigmask=blocked,
        )
        record = ProcessRecord(pid, _stat(pid)[1])
        _remember(layout.process_file(component), record)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(log)
    return record


def _remember(path: Path, record: ProcessRecord) -> None:
    """Ends the process that cannot be written down: nobody would find it again, and it would keep its port and store.
    Raises: FleetError."""
    try:
        write_file(path, msgspec.json.encode(record))
    except OSError as error:
        _signal_all({path.stem: record}, signal.SIGKILL)
        _expect_gone({path.stem: record})
        raise FleetError(f"{path} cannot be written: {error.strerror}; {path.stem} was not started") from error


def _keep_descriptors() -> None:
    """Has no process that is started from here inherit more than the standard streams."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > LAST_STREAM:
            with suppress(OSError):
                os.set_inheritable(int(name), False)


def find_process(layout: Layout, component: str) -> ProcessRecord | None:
    """The component's process, when it lives."""
    record = _remembered(layout.process_file(component))
    return record if record is not None and state_of_process(record) is not State.STOPPED else None


def state_of(layout: Layout, component: str) -> State:
    record = _remembered(layout.process_file(component))
    return State.STOPPED if record is None else state_of_process(record)


def state_of_process(record: ProcessRecord) -> State:
    _reap(record.pid)
    code, start_time = _stat(record.pid)
    if start_time != record.start_time or code in ("Z", "X", ""):
        return State.STOPPED
    return State.PAUSED if code in ("T", "t") else State.RUNNING


def remembered_components(layout: Layout) -> tuple[str, ...]:
    """All components that were started and not stopped by us, alive or not."""
    return tuple(sorted(path.stem for path in layout.run.glob("*.json")))


def pause(layout: Layout, component: str) -> None:
    """Freezes the process: its connections hang. Raises: FleetError when it does not run."""
    _send(layout, component, signal.SIGSTOP, State.PAUSED)


def resume(layout: Layout, component: str) -> None:
    """Raises: FleetError when it does not run."""
    _send(layout, component, signal.SIGCONT, State.RUNNING)


def kill(layout: Layout, components: Iterable[str]) -> None:
    """Ends the processes without a goodbye, as a cluster dies. Raises: FleetError when one cannot be ended."""
    records = _records(layout, components)
    _signal_all(records, signal.SIGKILL)
    _expect_gone(records)
    _forget(layout, records)


def terminate(layout: Layout, components: Iterable[str]) -> None:
    """Asks all processes to end, and kills those that do not. Raises: FleetError when one cannot be ended."""
    records = _records(layout, components)
    _signal_all(records, signal.SIGTERM)
    _signal_all(records, signal.SIGCONT)
    if not wait_until(lambda: _all_gone(records), TERMINATE_SECONDS):
        _signal_all(records, signal.SIGKILL)
    _expect_gone(records)
    _forget(layout, records)


def _send(layout: Layout, component: str, number: signal.Signals, expected: State) -> None:
    record = find_process(layout, component)
    if record is None:
        raise FleetError(f"{component} does not run: start it first")
    _signal_all({component: record}, number)
    wait_until(lambda: state_of_process(record) is expected, KILL_SECONDS)


def _records(layout: Layout, components: Iterable[str]) -> dict[str, ProcessRecord | None]:
    return {component: find_process(layout, component) for component in components}


def _signal_all(records: Mapping[str, ProcessRecord | None], number: signal.Signals) -> None:
    for record in records.values():
        if record is None or state_of_process(record) is State.STOPPED:
            continue
        try:
            os.kill(record.pid, number)
        except ProcessLookupError:
            continue
        except PermissionError as error:
            raise FleetError(
                f"process {record.pid} of this fleet belongs to another user: end it as that one"
            ) from error


def _expect_gone(records: Mapping[str, ProcessRecord | None]) -> None:
    if wait_until(lambda: _all_gone(records), KILL_SECONDS):
        return
    left = ", ".join(f"{name} (process {r.pid})" for name, r in records.items() if r is not None and not _gone(r))
    raise FleetError(f"these processes could not be ended: {left}")


def _all_gone(records: Mapping[str, ProcessRecord | None]) -> bool:
    return all(record is None or _gone(record) for record in records.values())


def _gone(record: ProcessRecord) -> bool:
    return state_of_process(record) is State.STOPPED


def _forget(layout: Layout, components: Iterable[str]) -> None:
    for component in components:
        layout.process_file(component).unlink(missing_ok=True)
        layout.ready_file(component).unlink(missing_ok=True)


def _remembered(path: Path) -> ProcessRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessRecord)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise FleetError(
            f"{path} is damaged ({error}): end the process that it was for, and delete the file"
        ) from error


def _reap(pid: int) -> None:
    """Lets a dead child go, so that it leaves no zombie behind."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _stat(pid: int) -> tuple[str, int]:
    """The state letter and the start time of a process; ("", 0) when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    fields = stat[stat.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])
