"""Pictures of the whole fleet, for questions: taken by one at a time, and kept for a moment for all who ask.

A picture has Works, which are not followed. What is worked out of one takes long, so that it is done for one at a time
as well: a hundred people who ask what would happen do not take the processor from each other, nor from the stream.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from kubeapi.loop import Clock, run_beside
from kubeclient import Client
from leeward.answers.fleet_state import FleetState
from leeward.answers.reading import read_fleet
from leeward.lint.live import read_objects
from leeward.lint.objects import LintObject
from leeward.operations import OperationFailed

FRESH_SECONDS = 5.0
MOST_WAITING = 20

P = ParamSpec("P")
T = TypeVar("T")


class FleetPictures:
    def __init__(self, client: Client, clock: Clock, name: str) -> None:
        self._client = client
        self._clock = clock
        self._name = name
        self._one = asyncio.Lock()
        self._last: FleetState | None = None
        self._taken_at = 0.0
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def whole(self) -> FleetState:
        """Raises: OperationFailed where there is no control plane, WorldError."""
        async with self._one:
            if self._last is None or self._clock.monotonic() - self._taken_at > FRESH_SECONDS:
                self._last = await read_fleet(self._client, self._clock, self._name)
                self._taken_at = self._clock.monotonic()
            return self._last

    async def work_out(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Works out what `function` makes of a picture, beside the loop. Raises: OperationFailed where too many
        wait."""
        if self._waiting >= MOST_WAITING:
            raise OperationFailed(f"{MOST_WAITING} questions wait for their answers: ask again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                return await run_beside(function, *args, **kwargs)
        finally:
            self._waiting -= 1

    async def with_objects(self) -> tuple[FleetState, list[LintObject], list[str]]:
        """Picture with the templates that lint looks at, and what of these could not be read. Raises: as `whole`."""
        state = await self.whole()
        async with self._one:
            objects, missed = await read_objects(self._client, state)
        return state, objects, missed
