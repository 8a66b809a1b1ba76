#!/usr/bin/env bash
# Question: two libraries of one service have a counter `failovers` each, in scopes of their own, as instrumentations of
#   OpenTelemetry do; who can read the page of metrics?
# Versions: opentelemetry-exporter-prometheus 0.66b2 with opentelemetry-sdk 1.45.2 (PyPI), @opentelemetry/exporter-prometheus
#   0.223.0 with @opentelemetry/sdk-metrics 2.12.1, parse-prometheus-text-format 1.1.1 (npm), promtool 2.42.0 (Debian 12).
# One would guess: everybody; a metric has one block, in which the label `otel_scope_name` holds the two apart.
# What is: so it is in Python. Node writes a block for each scope, each with HELP and TYPE of the one name. promtool refuses
#   the page, and two parsers give two families of one name, of which a program that looks a name up sees one.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" prometheus=2.42.0+ds-5+deb12u1
python3 -m venv env
env/bin/pip install -qq opentelemetry-exporter-prometheus==0.66b2 opentelemetry-sdk==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/exporter-prometheus@0.223.0 @opentelemetry/sdk-metrics@2.12.1 \
  @opentelemetry/api@1.9.1 parse-prometheus-text-format@1.1.1

cat > page.py <<'PAGE'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, REGISTRY, generate_latest

for collector in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR):
    REGISTRY.unregister(collector)
provider = MeterProvider([PrometheusMetricReader()])
for scope in ("one", "two"):
    meter = provider.get_meter(scope)
    meter.create_counter("failovers", description="Moves").add(1)
    meter.create_counter(f"calls_of_{scope}", description="Calls").add(1)
print(generate_latest(REGISTRY).decode(), end="")
PAGE
cat > page.cjs <<'PAGE'
const { PrometheusExporter, PrometheusSerializer } = require("@opentelemetry/exporter-prometheus");
const { MeterProvider } = require("@opentelemetry/sdk-metrics");
const reader = new PrometheusExporter({ preventServerStart: true });
const provider = new MeterProvider({ readers: [reader] });
for (const scope of ["one", "two"]) {
  const meter = provider.getMeter(scope);
  meter.createCounter("failovers", { description: "Moves" }).add(1);
  meter.createCounter(`calls_of_${scope}`, { description: "Calls" }).add(1);
}
reader.collect().then(({ resourceMetrics }) => process.stdout.write(new PrometheusSerializer().serialize(resourceMetrics)));
PAGE
cat > parse.cjs <<'PARSE'
const parse = require("parse-prometheus-text-format");
const found = parse(require("node:fs").readFileSync(0, "utf8")).filter(({ name }) => name.startsWith("failovers"));
console.log("  parse-prometheus-text-format:", found.map(({ metrics }) => `a family of ${metrics.length}`).join(", "));
PARSE
cat > parse.py <<'PARSE'
import sys

from prometheus_client.parser import text_string_to_metric_families

families = [family for family in text_string_to_metric_families(sys.stdin.read()) if family.name.startswith("failovers")]
print("  prometheus_client:", ", ".join(f"a family of {len(family.samples)}" for family in families))
PARSE
env/bin/python -W ignore page.py > page_of_python
node page.cjs > page_of_node
for page in page_of_python page_of_node; do
  echo "$page"
  grep -c '^# TYPE failovers_total' $page | sed 's/^/  lines of TYPE: /'
  of "$work/root" bin/promtool check metrics < $page > said 2>&1 || true
  echo "  promtool: $(grep -o 'second [A-Z]* line.*' said || echo reads it)"
  env/bin/python parse.py < $page
  node parse.cjs < $page
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
page_of_python
  lines of TYPE: 1
  promtool: reads it
  prometheus_client: a family of 2
  parse-prometheus-text-format: a family of 2
page_of_node
  lines of TYPE: 2
  promtool: second HELP line for metric name "failovers_total"
  prometheus_client: a family of 1, a family of 1
  parse-prometheus-text-format: a family of 1, a family of 1
EXPECTED
