#!/usr/bin/env bash
# Question: a service calls force_flush(), as before a long pause; what does its page of metrics for Prometheus have then?
# Versions: opentelemetry-exporter-prometheus 0.66b2 with opentelemetry-sdk 1.45.2 (PyPI), @opentelemetry/exporter-prometheus
#   0.223.0 with @opentelemetry/sdk-metrics 2.12.1 (npm).
# One would guess: each series once, with its present value; a page is read by who asks, so that there is nothing to flush.
# What is: in Python the next page has each series several times, the old value before the new one. The page after that is as
#   before. In Node nothing changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-exporter-prometheus==0.66b2 opentelemetry-sdk==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/exporter-prometheus@0.223.0 @opentelemetry/sdk-metrics@2.12.1 \
  @opentelemetry/api@1.9.1

cat > flush.py <<'FLUSH'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, generate_latest

provider = MeterProvider([PrometheusMetricReader()])
failovers = provider.get_meter("test").create_counter("failovers")


def page() -> str:
    lines = generate_latest(REGISTRY).decode().splitlines()
    return " ".join(line.rpartition(" ")[2] for line in lines if line.startswith("failovers_total"))


failovers.add(1)
print("Python, before:", page())
provider.force_flush()
failovers.add(1)
print("Python, after:", page())
print("Python, once more:", page())
FLUSH
cat > flush.cjs <<'FLUSH'
const { PrometheusExporter, PrometheusSerializer } = require("@opentelemetry/exporter-prometheus");
const { MeterProvider } = require("@opentelemetry/sdk-metrics");
const reader = new PrometheusExporter({ preventServerStart: true });
const provider = new MeterProvider({ readers: [reader] });
const failovers = provider.getMeter("test").createCounter("failovers");
const page = async () => {
  const lines = new PrometheusSerializer().serialize((await reader.collect()).resourceMetrics).split("\n");
  return lines.filter((line) => line.startsWith("failovers_total")).map((line) => line.split(" ")[1]).join(" ");
};
(async () => {
  failovers.add(1);
  console.log("Node, before:", await page());
  await provider.forceFlush();
  failovers.add(1);
  console.log("Node, after:", await page());
  console.log("Node, once more:", await page());
})();
FLUSH
{ env/bin/python -W ignore flush.py 2> errors && node flush.cjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Python, before: 1.0
Python, after: 1.0 1.0 2.0
Python, once more: 2.0
Node, before: 1
Node, after: 2
Node, once more: 2
EXPECTED
