"""A component as a process: its event loop, its end on SIGTERM and Ctrl-C, and its log lines."""

import asyncio
import errno
import gc
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Literal

import click

from kubeapi.connections import MOST_DESCRIPTORS
from kubeapi.errors import Fatal
from kubeapi.text import shown_lines

STOP_SECONDS = 3.0
_CANNOT_LISTEN = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)

YOUNG_OBJECTS = 10_000
"""Number of new objects after which the collector looks for cycles among them."""

_BEGINNING, _DELETE = "time=", 0x7F

LogForm = Literal["text", "json"]

log = logging.getLogger(__name__)


def serve(
    work: Coroutine[Any, Any, None], name: str, loop: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    """Runs `work` until it ends or a signal cancels it; what does not end in time then is cut off. `loop` makes its
    event loop: uvloop, where nothing is said."""
    import uvloop

    _spare_what_stays()
    raise_descriptor_limit()
    with asyncio.Runner(loop_factory=loop or uvloop.new_event_loop) as runner:
        runner.run(_until_signal(work, name))


def raise_descriptor_limit() -> int:
    """Has this process have as many descriptors as it may, up to a bound. Returns their number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


def _spare_what_stays() -> None:
    """Has the collector leave out what was imported, and look less often. Hardly anything of what a component holds is
    part of a cycle, and a look at all of it stops the loop for as long as there are objects."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


async def _until_signal(work: Coroutine[Any, Any, None], name: str) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if task is not None and not stopping:
            stopping = True
            log.info("stopping %s", name)
            task.cancel()
            loop.call_later(STOP_SECONDS, _cut_off, name)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    log.info("starting %s as process %d", name, os.getpid())
    try:
        await work
    except asyncio.CancelledError:
        if not stopping:
            raise
    except OSError as error:
        if error.errno in _CANNOT_LISTEN:
            raise click.ClickException(f"{error.strerror}: end who listens there, or choose another port") from error
        log.exception("%s failed", name)
        raise
    except Fatal as error:
        log.critical("%s", error.sentence)
        raise SystemExit(1) from error
    except Exception:
        log.exception("%s failed", name)
        raise


def _cut_off(name: str) -> None:
    log.error("%s did not end within %g seconds", name, STOP_SECONDS)
    os._exit(1)


def log_to_stderr(form: LogForm = "text") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else KeyValueFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


class KeyValueFormatter(logging.Formatter):
    """`time=... level=info logger=... message="..."`; the trace of an error follows on lines of its own.

    Nothing that others have named begins a line like this, or acts on the terminal that shows it.
    """

    def format(self, record: logging.LogRecord) -> str:
        message = _seen_in_json(record.getMessage())
        line = f"{_BEGINNING}{_time_of(record)} level={record.levelname.lower()} logger={record.name} message={message}"
        if not record.exc_info:
            return line
        trace = shown_lines(self.formatException(record.exc_info)).split("\n")
        return "\n".join([line, *(f"  {each}" if each.startswith(_BEGINNING) else each for each in trace)])


class JsonFormatter(logging.Formatter):
    """`{"time": "...", "level": "info", "logger": "...", "message": "..."}` on one line, and `trace` of an error.

    Instants are UTC with milliseconds, as in the text form. Nothing inside acts on a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **({"trace": self.formatException(record.exc_info)} if record.exc_info else {}),
        }
        return "{" + ", ".join(f'"{name}": {_seen_in_json(value)}' for name, value in fields.items()) + "}"


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _seen_in_json(text: str) -> str:
    """The text as a JSON string in which every letter can be seen."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_seen, quoted))


def _seen(letter: str) -> str:
    """A letter inside JSON, escaped as JSON does where it could not be seen."""
    if letter.isprintable():
        return letter
    return json.dumps(letter)[1:-1] if ord(letter) > _DELETE else f"\\u{ord(letter):04x}"
