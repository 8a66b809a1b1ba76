"""A never-ending look at the store: what is there, then every change, for the server's own controllers.

A watcher that fell behind is replaced by a new one that begins with the present state, so a reader only has to be
level-triggered: it sees every object at least once, and every deletion that happens while it is watching.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable

from kubeserver.store import Record, Store

RESTART_SECONDS = 0.1


async def changes(
    store: Store, prefix: str = "", concerns: Callable[[Record], bool] | None = None
) -> AsyncGenerator[Record, None]:
    """Goes on until it is closed. Nobody is woken for what does not concern them; a reader may see it all the same."""
    while True:
        listing = store.list(prefix)
        watcher = store.watch(prefix, listing.revision, concerns=concerns)
        try:
            for record in listing.records:
                yield record
            while records := await watcher.take(math.inf):
                for record in records:
                    yield record
        finally:
            watcher.close()
        await asyncio.sleep(RESTART_SECONDS)
