#!/usr/bin/env bash
# Question: under which names do OpenTelemetry's Prometheus exporters for Python and for Node show one instrument?
# Versions: opentelemetry-exporter-prometheus 0.66b2 with opentelemetry-sdk 1.45.2 (PyPI),
#   @opentelemetry/exporter-prometheus 0.223.0 with sdk-metrics 2.12.1 (npm).
# One would guess: under the same, since the specification says how units become suffixes; a gauge of unit `1` as `_ratio`.
# What is: Python writes most units into the name, and none for a gauge of unit `1`. Node writes none at all. A board for
#   services in both languages needs both names, and a sum over one of them leaves services out.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-exporter-prometheus==0.66b2 opentelemetry-sdk==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/exporter-prometheus@0.223.0 @opentelemetry/sdk-metrics@2.12.1

cat > page.py <<'PAGE'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, generate_latest

meter = MeterProvider(metric_readers=[PrometheusMetricReader()]).get_meter("m")
meter.create_gauge("used", "1").set(0.5)
meter.create_histogram("wait", "ms").record(3)
meter.create_gauge("rate", "By/s").set(1)
meter.create_counter("busy", "s").add(1)
print(generate_latest(REGISTRY).decode())
PAGE
cat > page.mjs <<'PAGE'
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
const exporter = new PrometheusExporter({ preventServerStart: true });
const meter = new MeterProvider({ readers: [exporter] }).getMeter("m");
meter.createGauge("used", { unit: "1" }).record(0.5);
meter.createHistogram("wait", { unit: "ms" }).record(3);
meter.createGauge("rate", { unit: "By/s" }).record(1);
meter.createCounter("busy", { unit: "s" }).add(1);
console.log(new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics));
PAGE
names() { sed -n 's/^# TYPE \(used\|wait\|rate\|busy\)/\1/p'; }
{
  echo "Python:" && env/bin/python page.py | names
  echo "Node:" && node page.mjs | names
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Python:
used gauge
wait_milliseconds histogram
rate_bytes_per_second gauge
busy_seconds_total counter
Node:
used gauge
wait histogram
rate gauge
busy_total counter
EXPECTED
