"""The store: every object of one API server as bytes, under revisions that only grow.

    record = await store.put(key, store.head(key), lambda revision: render(object, revision))

All live objects are kept in memory, with the history of each key down to the compacted revision. Readers see only what
is durable. Writers check against the *head*, which includes the writes under way, and no await lies between the check
and the queue. What queued while one commit ran goes into the next one (group commit). Below is a `Medium`: SQLite
(`sqlite.py`) in production, memory (`memory.py`) in simulation.

Never looks into a value, and never removes a live record.

Start reading at `store.py`, then `watch.py`.
"""

from kubeserver.store.medium import Batch, Loaded, Medium, MediumFailed, MediumFull
from kubeserver.store.record import Compacted, FutureRevision, Listing, Overloaded, Raced, Record, StoreFailed
from kubeserver.store.store import Store
from kubeserver.store.usage import StoredAmount, StoreUsage
from kubeserver.store.watch import YIELD_BYTES, Watcher

__all__ = [
    "YIELD_BYTES",
    "Batch",
    "Compacted",
    "FutureRevision",
    "Listing",
    "Loaded",
    "Medium",
    "MediumFailed",
    "MediumFull",
    "Overloaded",
    "Raced",
    "Record",
    "Store",
    "StoreFailed",
    "StoreUsage",
    "StoredAmount",
    "Watcher",
]
