#!/usr/bin/env bash
# Question: a proxy sends its trace in the header `b3` and leaves the decision to sample to the service, or one sends it in
#   Jaeger's header, escaped as in a URL; is it the same to each SDK of OpenTelemetry?
# Versions: opentelemetry-propagator-b3, opentelemetry-propagator-jaeger 1.45.1 (PyPI), @opentelemetry/propagator-b3,
#   @opentelemetry/propagator-jaeger 2.12.0 with @opentelemetry/api 1.9.1 (npm).
# One would guess: yes; both formats are older than OpenTelemetry, and `b3` without a decision is documented.
# What is: Python takes a `b3` without a decision for sampled, Node for not sampled, so that one keeps all of such traces and
#   the other none. In the headers `x-b3-...` both take it for not sampled. Jaeger's escaped header is no trace to Python.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-propagator-b3==1.45.1 opentelemetry-propagator-jaeger==1.45.1
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/propagator-b3@2.12.0 @opentelemetry/propagator-jaeger@2.12.0 \
  @opentelemetry/api@1.9.1 @opentelemetry/core@2.12.1

trace=463ac35c9f6413ad48485a3953bb6124
span=a2fb4a1d1a96d312
cat > headers.json <<HEADERS
[
  ["b3", "b3 with the decision to sample", {"b3": "$trace-$span-1"}],
  ["b3", "b3 without a decision", {"b3": "$trace-$span"}],
  ["b3", "x-b3-... without a decision", {"x-b3-traceid": "$trace", "x-b3-spanid": "$span"}],
  ["jaeger", "uber-trace-id", {"uber-trace-id": "$trace:$span:0:1"}],
  ["jaeger", "uber-trace-id, escaped", {"uber-trace-id": "$trace%3A$span%3A0%3A1"}]
]
HEADERS
cat > read.py <<'READ'
import json

from opentelemetry import trace
from opentelemetry.propagators.b3 import B3MultiFormat
from opentelemetry.propagators.jaeger import JaegerPropagator

PROPAGATORS = {"b3": B3MultiFormat(), "jaeger": JaegerPropagator()}
with open("headers.json") as file:
    for propagator, name, headers in json.load(file):
        found = trace.get_current_span(PROPAGATORS[propagator].extract(headers)).get_span_context()
        print(f"{name}: Python", ("sampled" if found.trace_flags else "not sampled") if found.is_valid else "no trace")
READ
cat > read.cjs <<'READ'
const { ROOT_CONTEXT, defaultTextMapGetter, trace } = require("@opentelemetry/api");
const { B3Propagator } = require("@opentelemetry/propagator-b3");
const { JaegerPropagator } = require("@opentelemetry/propagator-jaeger");
const propagators = { b3: new B3Propagator(), jaeger: new JaegerPropagator() };
for (const [propagator, name, headers] of require("./headers.json")) {
  const found = trace.getSpanContext(propagators[propagator].extract(ROOT_CONTEXT, headers, defaultTextMapGetter));
  console.log(`${name}: Node`, found ? (found.traceFlags ? "sampled" : "not sampled") : "no trace");
}
READ
{ env/bin/python read.py && node read.cjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
b3 with the decision to sample: Python sampled
b3 without a decision: Python sampled
x-b3-... without a decision: Python not sampled
uber-trace-id: Python sampled
uber-trace-id, escaped: Python no trace
b3 with the decision to sample: Node sampled
b3 without a decision: Node not sampled
x-b3-... without a decision: Node not sampled
uber-trace-id: Node sampled
uber-trace-id, escaped: Node sampled
EXPECTED
