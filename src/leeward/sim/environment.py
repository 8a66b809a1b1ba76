"""Environment of a world: its clock, its random numbers, its journal, and the links and lives of all parties.

It starts nobody, and knows of nobody but the control plane's place, which all turn to.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, ClassVar

from kubeapi.codec import decode_manifest, encode
from kubeapi.loop import Clock, Life, Randomness, Supervisor, VirtualClock
from kubeapi.meta import Manifest
from kubeclient import Client, Response, Unreachable
from kubecluster.journal import Journal
from kubecluster.network import Link, Place
from leeward.api.interpreter_config import ResourceInterpreterWebhook
from leeward.core.interpreter.webhook_exchange import address_of
from leeward.manager.timing import Timing
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.metrics import Metrics
from leeward.runtime.work_share import WHOLE, WorkShare

MAX_UNPACKED = 4
"""Objects that informers keep unpacked in a world, which has few: so its controllers meet packed ones all the time."""


class SkewedClock:
    """A party's own clock, `skew_seconds` ahead of the true one (behind it, when negative); durations are true."""

    def __init__(self, true: Clock) -> None:
        self._true = true
        self.skew_seconds = 0.0

    def now(self) -> datetime:
        now = self._true.now()
        return now + timedelta(seconds=self.skew_seconds) if self.skew_seconds else now

    def monotonic(self) -> float:
        return self._true.monotonic()


class Environment:
    """`place` is where the control plane's API server is reached, `NAME` the party's name in `link`."""

    NAME: ClassVar[str] = "control-plane"

    def __init__(self, timing: Timing, seed: int, clock: Clock | None) -> None:
        self.clock = clock or VirtualClock()
        self.randomness = Randomness(seed)
        self.draw = random.Random(f"world {seed}")
        self.timing = timing
        self.probe_serving = True
        self.journal = Journal(self.clock.monotonic)
        self.place = Place()
        self.metrics = Metrics()
        self.interpreter_hosts = InterpreterHosts()
        self._links: dict[tuple[str, str], Link] = {}
        self.lives: list[Life] = []

    @property
    def seconds(self) -> float:
        """Seconds since the world began."""
        return self.clock.monotonic()

    def link(self, who: str, whom: str) -> Link:
        """The way between two parties."""
        return self._links.setdefault((who, whom), Link())

    def all_links(self) -> list[Link]:
        return [self.place.link, *self._links.values()]

    def begin_life(self, name: str) -> Life:
        life = Life(name)
        self.lives.append(life)
        return life

    async def within(self, life: Life, work: Coroutine[Any, Any, None]) -> None:
        """Does a piece of work as part of a life. Raises: ChildProcessError when the life ends before it is done."""
        task = asyncio.get_running_loop().create_task(work, context=life.context())
        while not task.done():
            if life.ended:
                raise ChildProcessError(f"{life.name} was killed while it started")
            await asyncio.wait([task], timeout=1.0)
        await task

    async def ended(self, life: Life, ending: Coroutine[Any, Any, None]) -> None:
        """Waits until a party has ended in order; one that is killed meanwhile has ended, too."""
        task = asyncio.get_running_loop().create_task(ending)
        while not task.done() and not life.ended:
            await asyncio.wait([task], timeout=1.0)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    def plane(
        self, client: Client, supervisor: Supervisor, clock: Clock | None = None, share: WorkShare = WHOLE
    ) -> ControlPlane:
        return ControlPlane.of(
            client,
            clock or self.clock,
            self.randomness,
            self.metrics,
            supervisor,
            call_webhook=self.interpreter_hosts,
            share=share,
            max_unpacked=MAX_UNPACKED,
        )

    async def release_ended_lives(self) -> None:
        """Ends tasks at the end of a world: what has stopped since its life ended, ends as cancelled tasks do. A life
        that is paused by then ends before."""
        for life in self.lives:
            if life.paused:
                life.end()
        await asyncio.sleep(0)
        for life in self.lives:
            if life.ended:
                await life.release()


Answering = Callable[[Manifest], Awaitable[Manifest]]
"""Function from the request of a question to the response, without its uid. It may hang, or raise as a connection
does."""


class InterpreterHosts:
    """The way to all webhooks of a world, as `leeward.runtime.webhook_queue.Call`."""

    def __init__(self) -> None:
        self._hosts: dict[str, Answering] = {}

    def put(self, server: str, answering: Answering) -> None:
        """`server` is the webhook's URL without its path."""
        self._hosts[server] = answering

    async def __call__(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        server, _, _ = address_of(hook)
        answering = self._hosts.get(server)
        if answering is None:
            raise Unreachable(f"{server}: connection refused")
        request = decode_manifest(body)["request"]
        response = {"uid": request["uid"], "successful": True, **await answering(request)}
        return Response(200, encode({"response": response}))
