#!/usr/bin/env bash
# Question: for how long does an exporter wait for a collector that does not answer, when OTEL_EXPORTER_OTLP_TIMEOUT is 3?
# Versions: opentelemetry-exporter-otlp-proto-http 1.45.2 with opentelemetry-sdk 1.45.2 (PyPI),
#   @opentelemetry/exporter-trace-otlp-http 0.223.1 with @opentelemetry/sdk-trace-base 2.12.1 (npm).
# One would guess: for three milliseconds, the unit that OpenTelemetry's specification gives the variable.
# What is: Node waits for milliseconds, Python for three seconds. So `10000`, the default of the specification, makes a
#   service in Python wait for almost three hours, and hold its spans back for as long.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-exporter-otlp-proto-http==1.45.2 opentelemetry-sdk==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/exporter-trace-otlp-http@0.223.1 \
  @opentelemetry/sdk-trace-base@2.12.1 @opentelemetry/api@1.9.1

cat > wait.py <<'WAIT'
import os
import socket
import time

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider

silent = socket.create_server(("127.0.0.1", 0))
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
span = TracerProvider().get_tracer("test").start_span("work")
span.end()
exporter = OTLPSpanExporter()
began = time.monotonic()
exporter.export([span])
print("Python waits for", "seconds" if time.monotonic() - began > 2.5 else "milliseconds")
WAIT
cat > wait.cjs <<'WAIT'
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const spans = new InMemorySpanExporter();
new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer("test").startSpan("work").end();
const silent = require("node:net").createServer(() => {});
silent.listen(0, "127.0.0.1", () => {
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${silent.address().port}`;
  const began = Date.now();
  new OTLPTraceExporter().export(spans.getFinishedSpans(), () => {
    console.log("Node waits for", Date.now() - began > 2500 ? "seconds" : "milliseconds");
    process.exit();
  });
});
WAIT
export OTEL_EXPORTER_OTLP_TIMEOUT=3
{ env/bin/python wait.py 2> errors && node wait.cjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Python waits for seconds
Node waits for milliseconds
EXPECTED
