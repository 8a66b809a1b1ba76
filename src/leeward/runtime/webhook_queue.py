"""The questions to one interpreter webhook: a few at once, the others in their order, and nobody waits for long.

Who asks waits a moment. After that the webhook is slow, and nobody waits for it until it is quick again: a question
goes on by itself until its deadline, and its answer is there for who asks the same again. So a webhook that hangs takes
no worker of a controller from other kinds. Holds: L4.

Answers are remembered for a while by all that was asked, so also by the object's uid and resourceVersion. A webhook
whose configuration is another gets another queue.
"""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import NamedTuple

from kubeapi.codec import decode_manifest, encode
from kubeapi.errors import WorldError
from kubeapi.loop import Clock, Supervisor
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from leeward.api.interpreter_config import ResourceInterpreterWebhook
from leeward.core.interpreter import InterpretationError
from leeward.core.interpreter.webhook_exchange import answer_in, seconds_of

AT_ONCE, MOST_WAITING = 4, 1_000
"""Questions to one webhook that are under way, and those that wait for that; more are refused."""
PATIENCE_SECONDS = 0.5
LEFT_ALONE_SECONDS = 10.0
"""Seconds for which it is left alone after it did not answer."""
ANSWERED_SECONDS, FAILED_SECONDS = 300.0, 45.0
"""Seconds for which an answer is remembered, and that there was none: longer than a controller pauses between two
attempts."""
MOST_ANSWERS, MOST_BYTES = 2_000, 16 * 1024 * 1024

Call = Callable[[ResourceInterpreterWebhook, bytes], Awaitable[Response]]
"""Brings a question to a webhook. Raises: WorldError, ValueError for an address or certificate that makes no sense."""
Question = Callable[[str], bytes]
"""Writer of the body that is sent, given a uid for it."""


class NotAnsweredYet(WorldError):
    """The webhook is still asked: who asks the same again later hears its answer."""


class WebhookFailed(InterpretationError):
    """The webhook gave no answer, or one that makes no sense; that may pass."""


class _Answer(NamedTuple):
    """The response as JSON, or why there is none."""

    response: bytes
    failure: str
    until: float

    def read(self) -> Manifest:
        if self.failure:
            raise WebhookFailed(self.failure)
        return decode_manifest(self.response)


class WebhookQueue:
    def __init__(self, hook: ResourceInterpreterWebhook, call: Call, clock: Clock, supervisor: Supervisor) -> None:
        self._hook = hook
        self._call = call
        self._clock = clock
        self._supervisor = supervisor
        self._numbers = itertools.count(1)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._under_way: dict[bytes, asyncio.Future[_Answer]] = {}
        self._answers: OrderedDict[bytes, _Answer] = OrderedDict()
        self._bytes = 0
        self._is_slow = False
        self._silent_until = 0.0

    async def ask(self, question: Question) -> Manifest:
        """Response of the webhook. Raises: WebhookFailed, NotAnsweredYet."""
        key = blake2b(question(""), digest_size=16).digest()
        known = self._answers.get(key)
        if known is None or known.until <= self._clock.monotonic():
            self._refuse_silent()
            known = await self._wait(self._under_way.get(key) or self._begin(key, question))
        return known.read()

    def _begin(self, key: bytes, question: Question) -> "asyncio.Future[_Answer]":
        if len(self._under_way) >= AT_ONCE + MOST_WAITING:
            raise NotAnsweredYet(f"webhook {self._hook.name}: {MOST_WAITING} questions wait already")
        answer = self._under_way[key] = asyncio.get_running_loop().create_future()
        self._supervisor.start(self._answer(key, question, answer), f"interpreter webhook {self._hook.name}")
        return answer

    async def _wait(self, answer: "asyncio.Future[_Answer]") -> _Answer:
        if not self._is_slow:
            await asyncio.wait([answer], timeout=PATIENCE_SECONDS)
        if not answer.done() or answer.cancelled():
            self._is_slow = True
            raise NotAnsweredYet(f"webhook {self._hook.name} has not answered yet")
        return answer.result()

    async def _answer(self, key: bytes, question: Question, answer: "asyncio.Future[_Answer]") -> None:
        """Keeps the answer for those who ask again, and gives it to those who wait."""
        try:
            async with self._slots:
                found = await self._exchange(question)
            self._remember(key, found)
            answer.set_result(found)
        finally:
            del self._under_way[key]
            answer.cancel()

    async def _exchange(self, question: Question) -> _Answer:
        started, seconds, uid = self._clock.monotonic(), seconds_of(self._hook), str(next(self._numbers))
        try:
            self._refuse_silent()
            async with asyncio.timeout(seconds):
                response = await self._call(self._hook, question(uid))
        except (WorldError, TimeoutError) as error:
            self._silent_until, self._is_slow = self._clock.monotonic() + LEFT_ALONE_SECONDS, True
            return self._failed(str(error) or f"no answer within {seconds} s")
        except ValueError as error:
            return self._failed(str(error))
        ended = self._clock.monotonic()
        self._silent_until, self._is_slow = 0.0, ended - started > PATIENCE_SECONDS
        try:
            said = encode(answer_in(response.code, response.body, uid))
        except InterpretationError as error:
            return self._failed(str(error))
        return _Answer(said, "", ended + ANSWERED_SECONDS)

    def _failed(self, why: str) -> _Answer:
        return _Answer(b"", why, self._clock.monotonic() + FAILED_SECONDS)

    def _refuse_silent(self) -> None:
        if self._clock.monotonic() < self._silent_until:
            raise WebhookFailed("it did not answer, and is asked again soon")

    def _remember(self, key: bytes, answer: _Answer) -> None:
        before = self._answers.pop(key, None)
        self._answers[key] = answer
        self._bytes += len(answer.response) - (len(before.response) if before is not None else 0)
        while len(self._answers) > MOST_ANSWERS or (self._bytes > MOST_BYTES and len(self._answers) > 1):
            _, oldest = self._answers.popitem(last=False)
            self._bytes -= len(oldest.response)
