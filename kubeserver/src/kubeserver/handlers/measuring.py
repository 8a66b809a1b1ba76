"""Measures of requests, how many there are, how long they take and how they end: a `Handler` before another.

Kubernetes: staging/src/k8s.io/apiserver/pkg/endpoints/metrics; the stable names and labels, which dashboards and alerts
are made of. Differs: of what is no object, all paths are one; what leads to a member is CONNECT, and not timed.

Never looks into a body. Names that a client made up never become labels, for each label is kept for good.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import replace
from typing import NamedTuple
from weakref import finalize

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubeapi.loop import Clock
from kubeapi.transport import Request, Response
from kubeserver.auth.authorization import attributes_of
from kubeserver.handler import Handler, StreamResponse, User
from kubeserver.handlers.connecting import PROXY, leads_out
from kubeserver.kinds.scheme import Scheme
from kubeserver.routing import Target, route
from kubeserver.store import Store

_BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
    float("inf"),
)
_VERBS = {"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH",
          "delete": "DELETE", "deletecollection": "DELETECOLLECTION"}  # fmt: skip
_OTHER = "OTHER"
_APPLY = "application/apply-patch"


class Series(NamedTuple):
    """Series that a request is counted under, in the order of the labels."""

    verb: str
    dry_run: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    component: str = "apiserver"


class Measured:
    """Counts and times what `handler` answers, in `registry`."""

    def __init__(self, handler: Handler, scheme: Scheme, clock: Clock, registry: CollectorRegistry) -> None:
        self._handler = handler
        self._scheme = scheme
        self._clock = clock
        labels = Series._fields
        running = tuple(label for label in labels if label != "dry_run")
        self._requests = Counter(
            "apiserver_request", "Requests, by how they ended", (*labels, "code"), registry=registry
        )
        self._seconds = Histogram(
            "apiserver_request_duration_seconds", "From a request to its answer", labels, registry=registry,
            buckets=_BUCKETS,
        )  # fmt: skip
        inflight = Gauge(
            "apiserver_current_inflight_requests", "Requests that are not answered yet", ("request_kind",),
            registry=registry,
        )  # fmt: skip
        self._reading, self._writing = inflight.labels("readOnly"), inflight.labels("mutating")
        self._known: dict[tuple[Series, int], tuple[Counter, Histogram]] = {}
        """Counters that are there already: to look it up by its labels takes longer than to count."""
        self._streams = Gauge(
            "apiserver_longrunning_requests", "Watches, and connections to members", running, registry=registry
        )

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        series, started = self._series(request), self._clock.monotonic()
        with (self._reading if request.method in ("GET", "HEAD") else self._writing).track_inprogress():
            answer = await self._handler.handle(request, user)
        count, seconds = self._counting(series, answer.code)
        count.inc()
        if isinstance(answer, StreamResponse):
            return replace(answer, lines=_Open(answer.lines, self._streams.labels(series.verb, *series[2:])))
        if series.verb != "CONNECT":
            seconds.observe(self._clock.monotonic() - started)
        return answer

    def _counting(self, series: Series, code: int) -> tuple[Counter, Histogram]:
        found = self._known.get((series, code))
        if found is None:
            found = self._requests.labels(*series, str(code)), self._seconds.labels(*series)
            self._known[series, code] = found
        return found

    def _series(self, request: Request) -> Series:
        if leads_out(request.path):
            return Series("CONNECT", subresource=PROXY)
        verb = _VERBS.get(attributes_of(request).verb, _OTHER)
        found = route(self._scheme, request.path)
        if not isinstance(found, Target):
            return Series(verb)
        if verb == "PATCH" and request.headers.get("content-type", "").startswith(_APPLY):
            verb = "APPLY"
        dry_run = "All" if request.query.get("dryRun") else ""
        kind = found.kind
        return Series(verb, dry_run, kind.group, kind.version, kind.plural, found.subresource, _scope(found, verb))


class StoredObjects(Collector):
    """Collector of the number of objects of each kind, and of the bytes of each namespace, when somebody asks."""

    def __init__(self, store: Store, registry: CollectorRegistry) -> None:
        self._store = store
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("apiserver_storage_objects", "Stored objects", labels=("resource",))
        for prefix, count in self._store.counts().items():
            group, plural = prefix.strip("/").rpartition("/")[::2]
            family.add_metric((f"{plural}.{group}" if group else plural,), count)
        yield family
        size = GaugeMetricFamily("apiserver_stored_bytes", "Bytes of stored objects", labels=("namespace",))
        usage = self._store.usage
        for namespace, amount in usage.namespaces.items():
            size.add_metric((namespace,), amount.bytes)
        in_namespaces = sum(amount.bytes for amount in usage.namespaces.values())
        size.add_metric(("",), usage.everything.bytes - in_namespaces)
        yield size


class _Open:
    """The lines of a stream, which `streams` counts until it is closed, or forgotten."""

    def __init__(self, lines: AsyncIterator[bytes], streams: Gauge) -> None:
        self._lines = lines
        streams.inc()
        self._end = finalize(self, streams.dec)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._lines

    async def __anext__(self) -> bytes:
        return await anext(self._lines)

    async def aclose(self) -> None:
        self._end()
        lines = self._lines
        if isinstance(lines, AsyncGenerator):
            await lines.aclose()


def _scope(target: Target, verb: str) -> str:
    if target.name or verb == "POST":
        return "resource"
    return "namespace" if target.namespace else "cluster"
