"""Chain of handlers between the network and an API server: measured ▸ audited ▸ fair ▸ the server.

For tests of clients, storage that begins stands before the server.
"""

from prometheus_client import CollectorRegistry, ProcessCollector

from kubeapi.loop import Clock, Randomness
from kubeserver.handler import Handler
from kubeserver.handlers.audit import Audit, Sink
from kubeserver.handlers.fairness import Fairness
from kubeserver.handlers.initializing import InitializingStorage
from kubeserver.handlers.measuring import Measured, StoredObjects
from kubeserver.handlers.server import ApiServer


def handler_chain(
    server: ApiServer,
    clock: Clock,
    randomness: Randomness,
    registry: CollectorRegistry,
    sink: Sink | None = None,
    initializing_seconds: float = 0.0,
) -> Handler:
    """The handler for `HttpFront`. Nothing is audited without a `sink`. Once for each registry."""
    ProcessCollector(registry=registry)
    StoredObjects(server.store, registry)
    served: Handler = server
    if initializing_seconds:
        served = InitializingStorage(server, server, clock, initializing_seconds)
    handler: Handler = Fairness(served)
    if sink is not None:
        handler = Audit(handler, sink, clock, randomness)
    return Measured(handler, server.scheme, clock, registry)
