"""Probes that a component answers over HTTP: `/healthz`, `/readyz`, and the metrics that Prometheus scrapes.

`/healthz` answers while the event loop turns. `/readyz` answers ok once the control plane has answered, also for a
replica that waits for the lease. Nothing here is secret, and nothing can be changed.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector

from kubeapi.listening import listening
from leeward.app.flags.parsing import Address
from leeward.app.flags.settings import Serving
from leeward.runtime.metrics import Metrics

STOP_TIMEOUT_SECONDS = 0.5


class Probes:
    """`ready` is set by whoever runs the component."""

    def __init__(self, metrics: Metrics) -> None:
        self.ready = False
        self._metrics = metrics
        ProcessCollector(registry=metrics.registry)

    def health_routes(self) -> Iterable[web.RouteDef]:
        yield web.get("/healthz", self._healthz)
        yield web.get("/livez", self._healthz)
        yield web.get("/readyz", self._readyz)

    def metrics_routes(self) -> Iterable[web.RouteDef]:
        yield web.get("/metrics", self._render_metrics)

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self.ready:
            return web.Response(text="ok")
        return web.Response(status=503, text="the control plane has not answered yet")

    async def _render_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"content-type": CONTENT_TYPE_LATEST})


@asynccontextmanager
async def served(probes: Probes, serving: Serving) -> AsyncGenerator[None, None]:
    """Serves them while the context lasts. Raises: OSError when an address is taken."""
    routes: dict[Address, list[web.RouteDef]] = {}
    if serving.health is not None:
        routes.setdefault(serving.health, []).extend(probes.health_routes())
    if serving.metrics is not None:
        routes.setdefault(serving.metrics, []).extend(probes.metrics_routes())
    async with AsyncExitStack() as stack:
        for address, definitions in routes.items():
            app = web.Application()
            app.add_routes(definitions)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=STOP_TIMEOUT_SECONDS)
            await stack.enter_async_context(listening(runner, address.host, address.port))
        yield
