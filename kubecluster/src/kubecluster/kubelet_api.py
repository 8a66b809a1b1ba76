"""The kubelet API of a local member: `kubectl logs` and `exec`.

Answers from the simulated container: its log, and a shell of a few words (`rules/shell`). Exec is spoken over
WebSockets (`channels.py`), and over SPDY (`spdy_channels.py`).
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from controller_runtime import key_of
from kubeapi.loop import Supervisor
from kubeapi.meta import Manifest, parse_time
from kubeapi.transport import Request, Response
from kubecluster.channels import STDERR, STDOUT, Channels, exited, failed
from kubecluster.platform import Platform
from kubecluster.pod_sources import PodSources
from kubecluster.rules.container import container_names, container_of, container_state, log_of, look_inside
from kubecluster.rules.pods import is_finished, is_gone
from kubecluster.rules.shell import SHELLS, Shell
from kubecluster.spdy_channels import channels_for
from kubeserver import errors
from kubeserver.handler import StreamResponse
from kubeserver.handlers.pods import PodRequest

FOLLOW_SECONDS = 1.0
MAX_LINE_BYTES = 64 * 1024
MOST_INPUT_BYTES = 2 * 1024 * 1024
"""Most bytes of the input of one command."""
_TEXT = {"content-type": "text/plain"}


class KubeletApi:
    """The API server calls `answer` (`ApiServer.reach_kubelet`)."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._sources = PodSources(platform, lambda key: None)

    async def answer(self, asked: PodRequest) -> Response | StreamResponse:
        """Raises: Refused."""
        match asked.action:
            case "log":
                return self._log(asked)
            case "exec":
                return await self._converse(asked)
            case action:
                why = "containers of this cluster are simulated, and answer kubectl logs and kubectl exec alone"
                raise errors.bad_request(f"{action}: {why}")

    def _log(self, asked: PodRequest) -> Response | StreamResponse:
        pod, query = asked.pod, asked.request.query
        container = _container(pod, query)
        name, state = container["name"], container_state(pod, container["name"])
        if query.get("previous") in ("true", "1"):
            pod_name = pod["metadata"]["name"]
            raise errors.bad_request(f'previous terminated container "{name}" in pod "{pod_name}" not found')
        if "running" not in state and "terminated" not in state:
            raise _is_waiting(pod, name, state)
        text = _selected(log_of(pod, container), query, self._platform.clock.now())
        if query.get("follow") in ("true", "1") and not is_finished(pod):
            return StreamResponse(self._follow(pod, text), "text/plain", line_end=b"")
        return Response(200, text, _TEXT)

    async def _follow(self, pod: Manifest, text: bytes) -> AsyncGenerator[bytes, None]:
        """Ends with the Pod."""
        yield text
        await self._wait_for_end(pod)

    async def _wait_for_end(self, pod: Manifest) -> None:
        key = key_of(pod)
        while (now := self._platform.pods.get(key.name, key.namespace)) is not None:
            if is_gone(pod, now) or is_finished(now):
                return
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _converse(self, asked: PodRequest) -> StreamResponse:
        pod, request = asked.pod, asked.request
        container = _container(pod, request.query)
        if "running" not in (state := container_state(pod, container["name"])):
            raise _is_waiting(pod, container["name"], state)
        channels = channels_for(request)
        inside = look_inside(pod, container, await self._sources.lookup(pod))
        session = _Session(Shell(inside, self._platform.clock.now()), channels, request)
        work = Supervisor(f"{asked.action} in {pod['metadata']['name']}")
        work.start(session.run(), "command")
        return channels.answer(work)


class _Session:
    """One exec, until it ends."""

    def __init__(self, shell: Shell, channels: Channels, request: Request) -> None:
        self._shell = shell
        self._channels = channels
        self._command = parse_qs(request.query_string).get("command", [])
        self._has_stdin = request.query.get("stdin") in ("true", "1")
        self._is_terminal = request.query.get("tty") in ("true", "1")

    async def run(self) -> None:
        if await self._channels.wait_ready():
            await self._run()

    async def _run(self) -> None:
        command, shell = self._command, self._shell
        await self._channels.write(STDOUT, b"")
        if not command or not shell.knows(command[0]):
            program = command[0] if command else ""
            why = f'exec: "{program}": executable file not found in $PATH: unknown'
            await self._channels.end(failed(f"Internal error occurred: error executing command in container: {why}"))
            return
        is_interactive = command[0].rpartition("/")[2] in SHELLS and not any("c" in word for word in command[1:2])
        if self._has_stdin and is_interactive:
            await self._channels.end(exited(await self._read_lines()))
            return
        ended = shell.run(command, await self._read_all() if self._has_stdin and not self._is_terminal else b"")
        await self._say(ended.output, ended.errors)
        await self._channels.end(exited(ended.code))

    async def _read_lines(self) -> int:
        """Runs a shell on typed lines; returns its exit code."""
        code, kept = 0, b""
        await self._prompt()
        while (typed := await self._channels.read()) is not None and b"\x04" not in typed:
            if self._is_terminal:
                await self._say(typed.replace(b"\r", b"\n"), b"")
            *lines, kept = (kept + typed).replace(b"\r", b"\n").split(b"\n")
            kept = kept[-MAX_LINE_BYTES:]
            for line in lines:
                ended = self._shell.run_script(line.decode(errors="replace"), code=code)
                await self._say(ended.output, ended.errors)
                code = ended.code
                if ended.exits:
                    return code
                await self._prompt()
        return code

    async def _read_all(self) -> bytes:
        parts: list[bytes] = []
        while (typed := await self._channels.read()) is not None and sum(map(len, parts)) < MOST_INPUT_BYTES:
            parts.append(typed)
        return b"".join(parts)

    async def _prompt(self) -> None:
        if self._is_terminal:
            await self._channels.write(STDOUT, b"# ")

    async def _say(self, output: bytes, errors: bytes) -> None:
        if self._is_terminal:
            output, errors = (output + errors).replace(b"\n", b"\r\n"), b""
        if output:
            await self._channels.write(STDOUT, output)
        if errors:
            await self._channels.write(STDERR, errors)


def _container(pod: Manifest, query: Mapping[str, str]) -> Mapping[str, Any]:
    """Raises: Refused."""
    names, pod_name = container_names(pod), pod["metadata"]["name"]
    wanted = query.get("container") or (names[0] if len(names) == 1 else "")
    if not wanted:
        raise errors.bad_request(
            f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(names)}]"
        )
    container = container_of(pod, wanted)
    if container is None:
        raise errors.bad_request(f"container {wanted} is not valid for pod {pod_name}")
    return container


def _is_waiting(pod: Manifest, name: str, state: Mapping[str, Any]) -> errors.Refused:
    reason = state.get("waiting", {}).get("reason", "") or "ContainerCreating"
    where = f'container "{name}" in pod "{pod["metadata"]["name"]}"'
    return errors.bad_request(
        f"{where} is {'waiting to start: ' + reason if 'terminated' not in state else 'terminated'}"
    )


def _selected(lines: list[tuple[str, str]], query: Mapping[str, str], now: datetime) -> bytes:
    """Raises: Refused for numbers that are none."""
    since = _since(query, now)
    kept = [(at, line) for at, line in lines if since is None or (at and parse_time(at) >= since)]
    if "tailLines" in query:
        count = _number(query, "tailLines")
        kept = kept[-count:] if count else []
    shown = (f"{at} {line}\n" if query.get("timestamps") in ("true", "1") else f"{line}\n" for at, line in kept)
    text = "".join(shown).encode()
    return text[: _number(query, "limitBytes")] if "limitBytes" in query else text


def _since(query: Mapping[str, str], now: datetime) -> datetime | None:
    if "sinceSeconds" in query:
        return now - timedelta(seconds=_number(query, "sinceSeconds"))
    try:
        return parse_time(query["sinceTime"]) if "sinceTime" in query else None
    except ValueError as error:
        raise errors.bad_request(f"sinceTime: {error}") from error


def _number(query: Mapping[str, str], name: str) -> int:
    if not query[name].isdecimal():
        raise errors.bad_request(f"{name}: is {query[name]!r}; give a number that is not negative")
    return int(query[name])
