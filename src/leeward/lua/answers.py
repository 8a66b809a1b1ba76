"""Answers that scripts gave before: the same script, asked the same, need not be run again.

A script that looks at the time is run each time. That a script failed is believed for a while only, since the machine
may have been at fault. Bounded: what was not asked for longest goes first.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from kubeapi import codec
from leeward.core.interpreter import InterpretationError
from leeward.lua.jail import Jail

MOST_ANSWERS = 5_000
LARGEST_ANSWER = 64 * 1024
"""Most bytes of JSON that are kept; what is larger is not."""
FAILED_SECONDS = 60
_CLOCKS = ("os.", '"os"', "'os'", "math.random")


class RememberedAnswers:
    """A `Jail` that asks another one new questions only."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail
        self._answers: OrderedDict[bytes, tuple[bytes | str, int]] = OrderedDict()

    async def call(self, script: str, function: str, arguments: Sequence[Any], now: int) -> list[Any]:
        if any(clock in script for clock in _CLOCKS):
            return await self._jail.call(script, function, arguments, now)
        key = blake2b(codec.encode([script, function, list(arguments)]), digest_size=16).digest()
        known = self._answers.get(key)
        if known is not None and (isinstance(known[0], bytes) or now < known[1]):
            self._answers.move_to_end(key)
            return _told(known[0])
        try:
            results = await self._jail.call(script, function, arguments, now)
        except InterpretationError as error:
            self._keep(key, str(error), now + FAILED_SECONDS)
            raise
        answer = codec.encode(results)
        if len(answer) <= LARGEST_ANSWER:
            self._keep(key, answer, 0)
        return results

    def _keep(self, key: bytes, answer: bytes | str, until: int) -> None:
        self._answers[key] = answer, until
        if len(self._answers) > MOST_ANSWERS:
            self._answers.popitem(last=False)


def _told(answer: bytes | str) -> list[Any]:
    if isinstance(answer, str):
        raise InterpretationError(answer)
    return codec.decode(answer, list[Any])
