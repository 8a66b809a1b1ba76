"""A shard that hangs: nobody renews its Lease, though its process lives, and the control plane answers."""

import asyncio
from typing import Any

from leeward.api.resource import LEASES
from leeward.client import Client, NotFound, WorldError
from leeward.runtime.leader import LeaderSettings

LEASES_MISSED = 4
"""Looks in a row, each a whole Lease after the one before, that find it as it was: whoever worked, or stood by, would
have renewed or taken it meanwhile."""


async def goes_silent(client: Client, lease: str, settings: LeaderSettings) -> None:
    """Returns when nobody has renewed the Lease for so long.

    It is looks that are counted, and not time: while nobody could look, because the control plane was away or this
    process stood still, nothing is known of the shard.
    """
    known: Any = None
    missed = -1
    while missed < LEASES_MISSED:
        await asyncio.sleep(settings.lease_seconds)
        try:
            async with asyncio.timeout(settings.renew_seconds):
                seen = (await client.get(LEASES, lease, settings.namespace)).spec
        except NotFound:
            seen = None
        except (WorldError, TimeoutError):
            missed = -1
            continue
        missed = missed + 1 if seen == known or missed < 0 else 0
        known = seen
