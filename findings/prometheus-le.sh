#!/usr/bin/env bash
# Question: a service in Python and one in Node have a histogram with the same name and buckets; do rules find the bucket of
#   one second in both, such as `wait_seconds_bucket{le="1"}`?
# Versions: prometheus_client 0.26.0, opentelemetry-exporter-prometheus 0.66b2 (PyPI), prom-client 15.1.3,
#   @opentelemetry/exporter-prometheus 0.223.0 with @opentelemetry/sdk-metrics 2.12.1 (npm).
# One would guess: yes; `le` is a number, and the bounds are the same.
# What is: it is a text, and Python writes `1.0` where Node writes `1`. Of a million there are three: `1e+06`, `1000000.0`
#   and `1000000`. A rule that names a bucket misses one of the two services, and `sum by (le)` has each bound twice.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq prometheus_client==0.26.0 opentelemetry-exporter-prometheus==0.66b2
echo '{}' > package.json
npm install --silent --no-audit --no-fund prom-client@15.1.3 @opentelemetry/exporter-prometheus@0.223.0 \
  @opentelemetry/sdk-metrics@2.12.1 @opentelemetry/api@1.9.1

cat > page.py <<'PAGE'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, CollectorRegistry, Histogram, generate_latest

BOUNDS = (0.5, 1.0, 1_000_000.0)
own = CollectorRegistry()
Histogram("wait_seconds", "-", buckets=BOUNDS, registry=own).observe(0.7)
meter = MeterProvider(metric_readers=[PrometheusMetricReader()]).get_meter("m")
meter.create_histogram("wait", unit="s", explicit_bucket_boundaries_advisory=BOUNDS).record(0.7)
for library, registry in (("prometheus_client", own), ("opentelemetry for Python", REGISTRY)):
    lines = generate_latest(registry).decode().splitlines()
    print(f"{library}:", *(line.split('le="')[1].split('"')[0] for line in lines if line.startswith("wait_seconds_bucket")))
PAGE
cat > page.js <<'PAGE'
const buckets = [0.5, 1, 1000000];
const tell = (library, page) => console.log(`${library}:`, ...[...page.matchAll(/^wait_seconds_bucket.*le="([^"]*)"/gm)].map((m) => m[1]));
(async () => {
  const prom = require("prom-client");
  new prom.Histogram({ name: "wait_seconds", help: "-", buckets }).observe(0.7);
  tell("prom-client", await prom.register.metrics());
  const { PrometheusExporter, PrometheusSerializer } = require("@opentelemetry/exporter-prometheus");
  const { MeterProvider } = require("@opentelemetry/sdk-metrics");
  const reader = new PrometheusExporter({ preventServerStart: true });
  const meter = new MeterProvider({ readers: [reader] }).getMeter("m");
  meter.createHistogram("wait_seconds", { advice: { explicitBucketBoundaries: buckets } }).record(0.7);
  tell("opentelemetry for Node", new PrometheusSerializer().serialize((await reader.collect()).resourceMetrics));
})();
PAGE
{ env/bin/python page.py && node page.js; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
prometheus_client: 0.5 1.0 1e+06 +Inf
opentelemetry for Python: 0.5 1.0 1000000.0 +Inf
prom-client: 0.5 1 1000000 +Inf
opentelemetry for Node: 0.5 1 1000000 +Inf
EXPECTED
