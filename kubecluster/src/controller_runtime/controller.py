"""The loop of every controller: take a key, reconcile it, and come back when it said, or after a failure.

`reconcile` answers with the instant at which it wants to look again, or None. A failure of the world (`WorldError`)
is retried with growing pauses, and not before the time that an overloaded server asks for (429); so is a bug in a
reconciliation, loudly: one bad object never stops the others. Each reconciliation waits for its turn (`loop.turns`):
a queue that is never empty keeps nobody else from running.
"""

import logging
from collections.abc import Awaitable, Callable, Hashable
from contextvars import copy_context
from datetime import datetime
from itertools import count
from typing import Generic, TypeVar

from controller_runtime.controller_metrics import ControllerMetrics
from controller_runtime.queue import WorkQueue
from kubeapi.loop import Clock, Randomness, Supervisor, Turns
from kubeclient import Conflict, TooManyRequests, WorldError
from kubeclient.caller import CALLER

K = TypeVar("K", bound=Hashable)
log = logging.getLogger(__name__)


class Controller(Generic[K]):
    """Workers that reconcile the keys of one queue."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[datetime | None]],
        *,
        clock: Clock,
        randomness: Randomness,
        metrics: ControllerMetrics,
        workers: int = 8,
        rank: Callable[[K], int] = lambda key: 0,
        owns: Callable[[K], bool] = lambda key: True,
        turns: Turns | None = None,
    ) -> None:
        self.name = name
        self._turns = turns or Turns()
        self.queue = WorkQueue[K](clock, randomness, rank, owns)
        self._clock = clock
        self._reconcile = reconcile
        self._metrics = metrics
        self._workers = workers

    def start(self, supervisor: Supervisor) -> None:
        """A worker is hired for the first key that nobody is free for, and stays: most controllers need few. Late keys
        have workers of their own."""
        context, hired = copy_context(), count()
        context.run(CALLER.set, self.name.partition("/")[0])

        def hire(late: bool) -> None:
            context.copy().run(supervisor.start, self._work(late=late), f"{self.name}/{next(hired)}")

        supervisor.on_close(self.queue.close)
        self.queue.on_demand(hire, self._workers)

    async def _work(self, *, late: bool) -> None:
        while True:
            if late:
                await self._turns.late_hold.wait()
            key = await self.queue.get(late=late)
            try:
                await self._turns.take(late=late)
                await self._reconcile_once(key)
            finally:
                self.queue.done(key)

    def failed(self, key: K, error: WorldError) -> None:
        """Has `key` reconciled again after a failure of the world, later with every failure in a row."""
        match error:
            case Conflict():
                log.debug("%s %s: %s", self.name, key, error)
                self.queue.retry(key)
            case TooManyRequests():
                log.info("%s %s: %s", self.name, key, error)
                self.queue.retry(key, at_least=error.retry_after_seconds)
            case _:
                log.warning("%s %s: %s", self.name, key, error)
                self.queue.retry(key)

    async def _reconcile_once(self, key: K) -> None:
        started = self._clock.monotonic()
        try:
            wake_at = await self._reconcile(key)
        except WorldError as error:
            self.failed(key, error)
            outcome = _outcome_of(error)
        except Exception:
            log.exception("%s %s: the reconciliation failed", self.name, key)
            self.queue.retry(key)
            outcome = "bug"
        else:
            self.queue.succeeded(key)
            if wake_at is not None:
                self.queue.add_at(key, wake_at)
            outcome = "success"
        self._metrics.reconciled(self.name, outcome, self._clock.monotonic() - started)


def _outcome_of(error: WorldError) -> str:
    match error:
        case Conflict():
            return "conflict"
        case TooManyRequests():
            return "throttled"
        case _:
            return "error"
