"""The process in which scripts run: reads calls from its input, and writes an answer for each to its output.

Before the first call it gives up whatever a script could want: it may open no file and no connection, start no process
and take only so much memory. The kernel ends it when one call takes more than a second of CPU.
"""

import contextlib
import resource
import signal
import sys
from typing import Any, BinaryIO

from kubeapi import codec
from leeward.core.interpreter import InterpretationError
from leeward.core.interpreter.thirdparty.pod_templates import without_nulls
from leeward.lua.sandbox import Sandbox

CPU_SECONDS = 1.0
"""Most CPU seconds of one call."""
ADDRESS_SPACE_BYTES = 1024 * 1024 * 1024
OPEN_FILES = 3
"""Input, output, and where errors go: there is no fourth."""
NOTHING = (0, 0)


def main() -> None:
    sandbox = Sandbox()
    _warm_up(sandbox)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _give_up_rights()
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sandbox, sys.stdin.buffer, sys.stdout.buffer)


def serve(sandbox: Sandbox, calls: BinaryIO, answers: BinaryIO) -> None:
    """Serves until there are no more calls."""
    while line := calls.readline():
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        answer = _answer(sandbox, line)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(answer)
        answers.flush()


def _answer(sandbox: Sandbox, line: bytes) -> bytes:
    script, function, arguments, now = codec.decode(line, tuple[str, str, list[Any], int])
    if b"null" in line:
        arguments = [without_nulls(each) for each in arguments]
    try:
        return b"[true," + sandbox.call(script, function, arguments, now) + b"]\n"
    except InterpretationError as error:
        return codec.encode([False, str(error)]) + b"\n"


def _warm_up(sandbox: Sandbox) -> None:
    """Runs a little of everything: what is loaded when it is first needed cannot be loaded later."""
    text = 'local k = require("kube") function f(o) return k.getPodDependencies(o, "a"), k.resourceAdd("1", "1Gi") end'
    arguments: list[Any] = [{"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}}]
    sandbox.call(text, "f", arguments, 0)
    with contextlib.suppress(InterpretationError):
        sandbox.call("error({})", "f", arguments, 0)
    sandbox.check("(")


def _give_up_rights() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    for right in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
        resource.setrlimit(right, NOTHING)


if __name__ == "__main__":
    main()
