"""Plays recorded conversations against an API server in this process, on virtual time.

Requests go in and answers come out as they would over HTTP; what an answer should be is judged by the functions that
came with the recordings (tests/data/contract/comparison.py).
"""

import asyncio
import gzip
import importlib.util
import json
import re
import urllib.parse
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from kubeapi.loop.supervisor import Supervisor
from kubeapi.transport import Request, Response, split_lines
from kubeserver import errors
from kubeserver.auth.authentication import BadCredential
from kubeserver.handler import StreamResponse
from kubeserver.handlers.server import ApiServer
from kubeserver.limits import MAX_BODY_BYTES
from tests.kubeserver.contract_differences import is_on_purpose

DATA = Path(__file__).parents[1] / "data" / "contract"
TOKEN = "contract"
SETTLING_SECONDS = 0.01
TRIES = 20
TRY_SECONDS = 0.5


def _load_script() -> Any:
    spec = importlib.util.spec_from_file_location("contract_comparison", DATA / "comparison.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


script = _load_script()
Step = Mapping[str, Any]


def conversations() -> list[dict[str, Any]]:
    with gzip.open(DATA / "contract.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Player:
    """Speaks to one server."""

    def __init__(self, server: ApiServer, supervisor: Supervisor) -> None:
        self._server = server
        self._supervisor = supervisor

    async def load_fixtures(self) -> None:
        for fixture in json.loads((DATA / "fixtures.json").read_text()):
            answer = await self.send({"method": "POST", "path": fixture["path"], "body": fixture["body"]})
            assert answer["status"] == 201, answer

    async def play(self, conversation: Mapping[str, Any]) -> list[str]:
        """Differences, other than on purpose; each with the number of its step."""
        binder = script.Binder()
        found: list[str] = []
        for index, step in enumerate(conversation["steps"]):
            differences = await self._play_step(step, binder, conversation.get("managedFields", False))
            found += [f"step {index}: {d}" for d in differences if not is_on_purpose(step["request"], d)]
        return found + script.check_order(conversation, binder)

    async def send(self, request: Step) -> dict[str, Any]:
        answer = await self._open(request)
        if isinstance(answer, Response):
            return _parsed(answer)
        return {"status": 200, "headers": {"content-type": answer.content_type}, "text": "a stream"}

    async def _open(self, recorded: Step) -> Response | StreamResponse:
        body: bytes | None = script.request_bytes(recorded)
        headers = {"accept": "application/json", "user-agent": "contract/1.0"}
        headers |= {name.lower(): value for name, value in recorded.get("headers", {}).items()}
        token = {"admin": TOKEN, "none": ""}.get(recorded.get("auth", "admin"), recorded.get("auth", ""))
        if token:
            headers["authorization"] = f"Bearer {token}"
        if body is not None:
            headers.setdefault("content-type", "application/json")
        query = {name: str(value) for name, value in recorded.get("query", {}).items()}
        path = urllib.parse.unquote(recorded["path"])
        return await self._answer(Request(recorded["method"], path, query, headers, body or b""))

    async def _answer(self, request: Request) -> Response | StreamResponse:
        """Does what HTTP does before the server is asked."""
        if len(request.body) > MAX_BODY_BYTES:
            said = f"Request entity too large: limit is {MAX_BODY_BYTES}"
            return errors.status_response(errors.too_large(said).status)
        try:
            user = self._server.authenticator.authenticate(request, None)
        except BadCredential:
            return errors.status_response(errors.unauthorized().status)
        return await self._server.handle(request, user)

    async def _play_step(self, step: Step, binder: Any, managed: bool) -> list[str]:
        if step.get("sleep"):
            await asyncio.sleep(step["sleep"])
        if "watch" in step:
            return await self._play_watch(step, binder, managed)
        for attempt in range(TRIES):
            live = await self.send(binder.resolve(step["request"]))
            trial = binder.copy()
            differences: list[str] = script.compare(step, live, trial, managed)
            if not differences or not step.get("eventually") or attempt == TRIES - 1:
                binder.take(trial)
                return differences
            await asyncio.sleep(TRY_SECONDS)
        raise AssertionError("there is always a last try")

    async def _play_watch(self, step: Step, binder: Any, managed: bool) -> list[str]:
        wanted, how = step["response"], step["watch"]
        answer = await self._open(binder.resolve(step["request"]))
        frames: list[Any] = []
        ended = asyncio.Event()
        reader = None
        if isinstance(answer, StreamResponse):
            lines = cast(AsyncGenerator[bytes, None], answer.lines)
            reader = self._supervisor.start(_collect(lines, frames, ended), "watch")
            await asyncio.sleep(SETTLING_SECONDS)
        found: list[str] = []
        for index, inner in enumerate(step.get("during") or []):
            differences = await self._play_step(inner, binder, managed)
            found += [f"during[{index}] {d}" for d in differences]
        if isinstance(answer, Response):
            return found + script.compare(step, _parsed(answer), binder, managed)
        try:
            async with asyncio.timeout(how["seconds"] + 0.3):
                await ended.wait()
        except TimeoutError:
            assert reader is not None
            reader.cancel()
        if how.get("untilEnd") and not ended.is_set():
            found.append("the watch did not end")
        keep = script.keep_frame(how.get("bookmarks", "none"))
        live = [f if managed else script.strip_managed_frame(f) for f in frames if keep(f)]
        if len(live) != len(wanted["frames"]):
            return [*found, f"frames: want {script.outline(wanted['frames'])}, have {script.outline(live)}"]
        masked = [script.mask_ages(frame) for frame in live]
        script.match(wanted["frames"], masked, "frames", binder, found, unordered=how.get("unordered", False))
        return found


async def _collect(lines: AsyncGenerator[bytes, None], frames: list[Any], ended: asyncio.Event) -> None:
    async with aclosing(lines):
        async for line in split_lines(lines):
            frames.append(json.loads(line))
    ended.set()


def _parsed(answer: Response) -> dict[str, Any]:
    headers: dict[str, Any] = {name: answer.headers[name] for name in script.HEADERS_KEPT if name in answer.headers}
    if "warning" in headers:
        headers["warning"] = re.split(r", (?=299 )", headers["warning"])
    parsed: dict[str, Any] = {"status": answer.code, "headers": headers}
    text = answer.body.decode(errors="replace")
    if "json" in headers.get("content-type", ""):
        return {**parsed, "body": json.loads(text)}
    return {**parsed, "text": text}
