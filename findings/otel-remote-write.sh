#!/usr/bin/env bash
# Question: is a histogram that Python's remote-write exporter of OpenTelemetry sends to Prometheus the one that its page of
#   metrics shows?
# Versions: opentelemetry-exporter-prometheus-remote-write 0.66b1, opentelemetry-exporter-prometheus 0.66b2,
#   opentelemetry-sdk 1.45.2 (PyPI).
# One would guess: yes; both are exporters of one project for one kind of server, and buckets of Prometheus add up.
# What is: remote-write sends the buckets without `_bucket` in the name, and each with its own count alone, so that `+Inf` is 0
#   where three values were measured. The bucket of the bound 0 has no `le`. A counter has no `_total`, and the unit `s` is not
#   written out. No rule for the one finds the other, and `histogram_quantile` finds nothing true.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-exporter-prometheus-remote-write==0.66b1 opentelemetry-exporter-prometheus==0.66b2 \
  opentelemetry-sdk==1.45.2 python-snappy==0.7.3
cat > measure.py <<'MEASURE'
import http.server
import re
import threading

import snappy
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.exporter.prometheus_remote_write import PrometheusRemoteWriteMetricsExporter
from opentelemetry.exporter.prometheus_remote_write.gen.remote_pb2 import WriteRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from prometheus_client import REGISTRY, generate_latest

received: list[str] = []


class Prometheus(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = WriteRequest()
        request.ParseFromString(snappy.decompress(self.rfile.read(int(self.headers["Content-Length"]))))
        for series in request.timeseries:
            labels = {label.name: label.value for label in series.labels}
            le = f'{{le="{labels["le"]}"}}' if "le" in labels else ""
            received.append(f"{labels['__name__']}{le} {series.samples[0].value}")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def measure(reader: MetricReader) -> None:
    view = View(instrument_name="wait", aggregation=ExplicitBucketHistogramAggregation([0, 1, 5]))
    provider = MeterProvider([reader], resource=Resource({}), views=[view])
    meter = provider.get_meter("test")
    meter.create_counter("failovers").add(3)
    wait = meter.create_histogram("wait", unit="s")
    for seconds in (0.5, 0.7, 3):
        wait.record(seconds)
    if isinstance(reader, PeriodicExportingMetricReader):
        provider.force_flush()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
threading.Thread(target=server.serve_forever, daemon=True).start()
exporter = PrometheusRemoteWriteMetricsExporter(endpoint=f"http://127.0.0.1:{server.server_port}")
measure(PeriodicExportingMetricReader(exporter, export_interval_millis=600_000))
print(*(f"remote write: {line}" for line in received), sep="\n")
measure(PrometheusMetricReader())
for line in generate_latest(REGISTRY).decode().splitlines():
    if line.startswith(("wait", "failovers")):
        print("page:", re.sub(r',?otel_scope_\w+="\w*"', "", line).replace("{}", "").replace("{,", "{"))
MEASURE
env/bin/python -W ignore measure.py 2> errors | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
remote write: failovers 3.0
remote write: wait_s 0.0
remote write: wait_s{le="1"} 2.0
remote write: wait_s{le="5"} 1.0
remote write: wait_s{le="+Inf"} 0.0
remote write: wait_s_sum 4.2
remote write: wait_s_count 3.0
page: failovers_total 3.0
page: wait_seconds_bucket{le="0"} 0.0
page: wait_seconds_bucket{le="1"} 2.0
page: wait_seconds_bucket{le="5"} 3.0
page: wait_seconds_bucket{le="+Inf"} 3.0
page: wait_seconds_count 3.0
page: wait_seconds_sum 4.2
EXPECTED
