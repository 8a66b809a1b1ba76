#!/usr/bin/env bash
# Question: a metric of OpenTelemetry has the attributes `a.b` and `a_b`, or one that begins with a digit; what does its
#   Prometheus exporter for Node write?
# Versions: @opentelemetry/exporter-prometheus 0.223.0 with sdk-metrics 2.12.1 (npm), promtool 2.42.0 (Debian 12).
# One would guess: one label `a_b` with both values, joined by `;`, as the specification wants, and `_5xx`.
# What is: `a_b` stands there twice, and `5xx` as it is. Neither can be read: Prometheus refuses all of the page, with the
#   metrics that have nothing to do with it.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" prometheus=2.42.0+ds-5+deb12u1
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/exporter-prometheus@0.223.0 @opentelemetry/sdk-metrics@2.12.1

cat > page.mjs <<'PAGE'
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
const exporter = new PrometheusExporter({ preventServerStart: true });
const provider = new MeterProvider({ readers: [exporter] });
provider.getMeter("m").createGauge("g").record(1, JSON.parse(process.argv[2]));
console.log(new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics));
PAGE
for attributes in '{"a_c": "1"}' '{"a.b": "1", "a_b": "2"}' '{"5xx": "1"}'; do
  node page.mjs "$attributes" > page
  sed -n 's/,otel_scope.*//; /^g{/p' page
  said=$(of "$work/root" bin/promtool check metrics < page 2>&1 || true)
  grep -o '[a-z]* label name.*' <<< "$said" || echo "can be read"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
g{a_c="1"
can be read
g{a_b="1",a_b="2"
duplicate label names for metric "g"
g{5xx="1"
invalid label name for metric "g"
EXPECTED
