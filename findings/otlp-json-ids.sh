#!/usr/bin/env bash
# Question: is OTLP in JSON what protobuf's own JSON reader makes of the messages of OTLP?
# Versions: opentelemetry-proto 1.45.2 with protobuf 6.33.6 (PyPI), @opentelemetry/otlp-transformer 0.223.1 with
#   @opentelemetry/sdk-trace-base 2.12.1 (npm).
# One would guess: yes, or an error; the message is defined in protobuf, whose JSON is standard.
# What is: OTLP writes the bytes of ids in hexadecimal, protobuf's JSON in base64. 32 digits are valid base64, so that the
#   reader takes them, without an error, for an id of 24 bytes. Written out again it looks right, and in binary it is wrong.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-proto==1.45.2 protobuf==6.33.6
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/otlp-transformer@0.223.1 @opentelemetry/sdk-trace-base@2.12.1 \
  @opentelemetry/api@1.9.1

cat > write.js <<'WRITE'
const { JsonTraceSerializer } = require("@opentelemetry/otlp-transformer");
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const spans = new InMemorySpanExporter();
const idGenerator = { generateTraceId: () => "0af7651916cd43dd8448eb211c80319c", generateSpanId: () => "b7ad6b7169203331" };
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)], idGenerator });
provider.getTracer("fleet").startSpan("failover").end();
process.stdout.write(Buffer.from(JsonTraceSerializer.serializeRequest(spans.getFinishedSpans())));
WRITE
cat > read.py <<'READ'
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

text = sys.stdin.read()
sent = json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
read = json_format.Parse(text, ExportTraceServiceRequest()).resource_spans[0].scope_spans[0].spans[0]
again = json_format.MessageToDict(read)
print(f"sent: trace {sent['traceId']}, span {sent['spanId']}")
print(f"read: trace {read.trace_id.hex()} of {len(read.trace_id)} bytes, span of {len(read.span_id)} bytes")
print(f"written as JSON again: trace {again['traceId']}")
READ
node write.js | env/bin/python read.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
sent: trace 0af7651916cd43dd8448eb211c80319c, span b7ad6b7169203331
read: trace d1a7fbeb9d7dd7a71de3775df38e3c79bdb5d5cf34df5f5c of 24 bytes, span of 12 bytes
written as JSON again: trace 0af7651916cd43dd8448eb211c80319c
EXPECTED
