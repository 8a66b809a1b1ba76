#!/usr/bin/env bash
# Question: a request brings the `tracestate` of two vendors, one with a key that begins with a digit; what is passed on?
# Versions: opentelemetry-api 1.45.2 (PyPI), @opentelemetry/core 2.12.1 with @opentelemetry/api 1.9.1 (npm).
# One would guess: both; keys may begin with a digit since Level 2 of Trace Context, and did for tenants before.
# What is: Python drops the state of all vendors, with a line in its log. Node drops that one and passes the other on.
#   `1@a`, a tenant, both pass on. So a trace's vendor loses its place behind a service in Python for the key of somebody
#   else.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-api==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/core@2.12.1 @opentelemetry/api@1.9.1
parent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
cat > pass.py <<'PASS'
import logging
import sys

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

logging.disable()
propagator, passed = TraceContextTextMapPropagator(), dict[str, str]()
propagator.inject(passed, propagator.extract({"traceparent": sys.argv[1], "tracestate": sys.argv[2]}))
print("  Python passes on:", passed.get("tracestate", "nothing"))
PASS
cat > pass.cjs <<'PASS'
const { W3CTraceContextPropagator } = require("@opentelemetry/core");
const { ROOT_CONTEXT, defaultTextMapGetter, defaultTextMapSetter } = require("@opentelemetry/api");
const [traceparent, tracestate] = process.argv.slice(2);
const propagator = new W3CTraceContextPropagator();
const passed = {};
const context = propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter);
propagator.inject(context, passed, defaultTextMapSetter);
console.log("  Node passes on:", passed.tracestate ?? "nothing");
PASS
for state in acme=1,other=2 1acme=1,other=2 1@acme=1,other=2; do
  echo "$state:"
  env/bin/python pass.py "$parent" "$state"
  node pass.cjs "$parent" "$state"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
acme=1,other=2:
  Python passes on: acme=1,other=2
  Node passes on: acme=1,other=2
1acme=1,other=2:
  Python passes on: nothing
  Node passes on: other=2
1@acme=1,other=2:
  Python passes on: 1@acme=1,other=2
  Node passes on: 1@acme=1,other=2
EXPECTED
