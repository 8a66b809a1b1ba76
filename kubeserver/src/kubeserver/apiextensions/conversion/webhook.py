"""Asks the webhook of one definition."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from kubeapi.loop import Randomness
from kubeapi.meta import ReadOnlyManifest
from kubeserver.apiextensions.conversion.conversion_cache import ConversionCache
from kubeserver.apiextensions.conversion.review import Misconverted, read_review, render_review, type_of
from kubeserver.errors import unconvertible
from kubeserver.store import Store
from kubeserver.values import section
from kubeserver.webhooks.calling import Uncallable, WebhookClient, address_of
from kubeserver.webhooks.configuration import ClientConfig

TIMEOUT_SECONDS = 30
MOST_OBJECTS = 500
MOST_BYTES = 4 * 1024 * 1024
"""Most bytes of one batch, but for an object that is larger by itself."""


class _Webhook(msgspec.Struct, rename="camel", frozen=True):
    client_config: ClientConfig
    conversion_review_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Converters:
    """Makes the `Conversion` of any definition."""

    client: WebhookClient
    store: Store
    randomness: Randomness

    def __call__(self, definition: ReadOnlyManifest) -> "WebhookConversion | None":
        conversion = section(definition["spec"], "conversion")
        if conversion.get("strategy") != "Webhook":
            return None
        return WebhookConversion(self, msgspec.convert(conversion["webhook"], _Webhook))


class WebhookConversion:
    """The `Conversion` of one definition, for as long as it stays as it is."""

    def __init__(self, means: Converters, webhook: _Webhook) -> None:
        self._means = means
        self._webhook = webhook
        self._cache = ConversionCache(self._ask)

    def known(self, value: bytes, target: str) -> bytes | None:
        return self._cache.known(value, target)

    async def convert(self, values: Sequence[bytes], target: str) -> list[bytes]:
        return await self._cache.get(values, target)

    async def _ask(self, values: Sequence[bytes], target: str) -> list[bytes]:
        return [made for batch in _batches(values) for made in await self._ask_once(batch, target)]

    async def _ask_once(self, values: Sequence[bytes], target: str) -> list[bytes]:
        uid, versions = self._means.randomness.uid(), self._webhook.conversion_review_versions
        version = next(each for each in versions if each in ("v1", "v1beta1"))
        try:
            answer = await self._call(render_review(values, target, uid, version))
            return read_review(answer, values, target, uid, version)
        except Uncallable as error:
            why = f"failed: {error}"
        except Misconverted as error:
            why = str(error)
        raise unconvertible(f"conversion webhook for {type_of(values[0])} {why}")

    async def _call(self, body: bytes) -> bytes:
        """Raises: Uncallable."""
        address = address_of(self._webhook.client_config, self._means.store)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._means.client.post(address, body, TIMEOUT_SECONDS)
        except TimeoutError:
            raise Uncallable(f"{address.url}: no answer within {TIMEOUT_SECONDS} s") from None


def _batches(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = size = 0
    for index, value in enumerate(values):
        if index > start and (index - start == MOST_OBJECTS or size + len(value) > MOST_BYTES):
            yield values[start:index]
            start, size = index, 0
        size += len(value)
    if values:
        yield values[start:]
