"""Cache of what was converted, for as long as there is room: a thousand who watch an object ask for it once.

An object in one version is always the same in another, as far as its definition stays the same: a webhook that changes
its mind is asked again when there was need of the room, as kube-apiserver's watch cache does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

KEPT_BYTES = 8 * 1024 * 1024

Ask = Callable[[Sequence[bytes], str], Awaitable[list[bytes]]]
"""The objects in the version that is named, in their order."""

_Found = dict[bytes, bytes]
_Key = tuple[str, bytes]


class ConversionCache:
    """Conversions by version and object, up to `limit_bytes` together; `ask` makes those that are missing."""

    def __init__(self, ask: Ask, limit_bytes: int = KEPT_BYTES) -> None:
        self._ask = ask
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._kept: dict[_Key, bytes] = {}
        self._under_way: dict[_Key, asyncio.Future[_Found]] = {}

    def known(self, value: bytes, target: str) -> bytes | None:
        return self._kept.get((target, value))

    async def get(self, values: Sequence[bytes], target: str) -> list[bytes]:
        """Converted values, also those for which there is no room. Raises what `ask` raises."""
        found = {value: made for value in values if (made := self.known(value, target)) is not None}
        while missing := list(dict.fromkeys(value for value in values if value not in found)):
            others = (self._under_way.get((target, value)) for value in missing)
            other = next((each for each in others if each is not None), None)
            found |= await (asyncio.shield(other) if other is not None else self._make(missing, target))
        return [found[value] for value in values]

    async def _make(self, values: Sequence[bytes], target: str) -> _Found:
        """Tells others who need the same; nothing, where whoever asked was cancelled, so that they ask themselves."""
        under_way: asyncio.Future[_Found] = asyncio.get_running_loop().create_future()
        self._under_way |= {(target, value): under_way for value in values}
        found: _Found = {}
        try:
            found = dict(zip(values, await self._ask(values, target), strict=True))
        except Exception as error:
            under_way.set_exception(error)
            under_way.exception()
            raise
        finally:
            for value in values:
                del self._under_way[target, value]
            if not under_way.done():
                under_way.set_result(found)
        self._keep(found, target)
        return found

    def _keep(self, found: _Found, target: str) -> None:
        """The oldest ones go first."""
        for value, made in found.items():
            self._kept[target, value] = made
            self._bytes += len(value) + len(made)
        while self._bytes > self._limit_bytes:
            target_and_value = next(iter(self._kept))
            self._bytes -= len(target_and_value[1]) + len(self._kept.pop(target_and_value))
