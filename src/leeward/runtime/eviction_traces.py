"""Traces of evictions, in OpenTelemetry (--trace-evictions): one for each application that a dead cluster has lost.

    eviction      from the first failed probe until the replacement is healthy
      probe       until the cluster was not Ready
      taint       until the NoExecute taint
      decision    until the application left for other clusters
      work        until a cluster has applied its Work; none for a cluster that had one before the outage
      healthy     until the replacement was healthy

The instants are those of the `Outage` object and of the Works: tracing changes no decision, and a trace is whole also
after a restart. OpenTelemetry's SDK sends it, from a thread of its own, as its variables OTEL_* say.
"""

from collections.abc import Mapping
from datetime import datetime

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer
from opentelemetry.trace import TracerProvider as AnyProvider

from leeward.api.outage import OutageApplication, OutageStatus

_NANOSECONDS = 1_000_000_000


class EvictionTraces:
    """Writer of traces. Without a provider they go to the one of the process, which is made where there is none."""

    def __init__(self, provider: AnyProvider | None = None) -> None:
        self._tracer: Tracer = (provider or _provider()).get_tracer("leeward")

    def write(
        self, cluster: str, outage: OutageStatus, moved: OutageApplication, applied: Mapping[str, datetime]
    ) -> None:
        """Writes the trace of one application. `applied`: since when the Work is applied, by target cluster."""
        failed_at, healthy_at = outage.failed_at, moved.healthy_at
        if failed_at is None or healthy_at is None:
            return
        told = {"leeward.cluster": cluster, "k8s.kind": moved.kind, "k8s.name": moved.name}
        if moved.namespace:
            told["k8s.namespace.name"] = moved.namespace
        root = self._tracer.start_span(
            "eviction", trace.set_span_in_context(trace.INVALID_SPAN), attributes=told, start_time=_at(failed_at)
        )
        began = failed_at
        steps = (("probe", outage.not_ready_at), ("taint", outage.no_execute_at), ("decision", moved.left_at))
        for name, ended in steps:
            if ended is not None:
                self._step(root, name, began, ended, cluster)
                began = max(began, ended)
        made = {target: at for target, at in applied.items() if at >= failed_at}
        for target, ended in made.items():
            self._step(root, "work", began, ended, target)
        self._step(root, "healthy", max((began, *made.values())), healthy_at, ", ".join(moved.to))
        root.end(_at(healthy_at))

    def _step(self, root: trace.Span, name: str, began: datetime, ended: datetime, cluster: str) -> None:
        within, told = trace.set_span_in_context(root), {"leeward.cluster": cluster}
        span = self._tracer.start_span(name, within, attributes=told, start_time=_at(min(began, ended)))
        span.end(_at(ended))


def _provider() -> AnyProvider:
    """Provider of the process: one that sends by OTLP over HTTP, unless somebody has set another."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider(resource=Resource.create({"service.name": "leeward"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    return trace.get_tracer_provider()


def _at(instant: datetime) -> int:
    return int(instant.timestamp()) * _NANOSECONDS + instant.microsecond * 1000
