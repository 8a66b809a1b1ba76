#!/usr/bin/env bash
# Question: an operator sets OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector, and no protocol; how do SDKs speak there?
# Versions: opentelemetry-distro 0.66b2 with opentelemetry-exporter-otlp 1.45.2 (PyPI), @opentelemetry/sdk-node 0.223.0 (npm).
# One would guess: all in one way, so that one port serves all services; the specification recommends http/protobuf.
# What is: Python speaks gRPC, Node HTTP. Collectors have a port for each, so that services of one language send nothing there.
#   `http/json` is a protocol to Node alone: Python says so in its log, and makes no traces at all. Name `grpc` or
#   `http/protobuf`.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-distro==0.66b2 opentelemetry-exporter-otlp==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/sdk-node@0.223.0 @opentelemetry/api@1.9.1

cat > collector.py <<'COLLECTOR'
import socket

collector = socket.create_server(("127.0.0.1", 0))
with open("port", "w") as port:
    port.write(str(collector.getsockname()[1]))
while True:
    connection, _ = collector.accept()
    connection.settimeout(5)
    try:
        line = connection.recv(300).decode(errors="replace").partition("\r\n")[0]
    except OSError:
        line = ""
    with open("seen", "a") as seen:
        seen.write(f"{line}\n")
    connection.close()
COLLECTOR
cat > service.py <<'SERVICE'
from opentelemetry import trace

trace.get_tracer("test").start_span("work").end()
provider = trace.get_tracer_provider()
if hasattr(provider, "force_flush"):
    provider.force_flush(3000)
SERVICE
cat > service.cjs <<'SERVICE'
const { trace } = require("@opentelemetry/api");
const { NodeSDK } = require("@opentelemetry/sdk-node");
const sdk = new NodeSDK();
sdk.start();
trace.getTracer("test").startSpan("work").end();
sdk.shutdown().then(process.exit, process.exit);
SERVICE
python3 collector.py &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
export OTEL_EXPORTER_OTLP_ENDPOINT OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none
OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$(cat port)
heard() {
  : > seen
  timeout 60 "$@" > said 2>&1 || true
  case $(head -1 seen) in
    PRI*) echo gRPC ;;
    POST*) echo HTTP ;;
    *) echo nothing ;;
  esac
}
for protocol in "" grpc http/protobuf http/json; do
  [[ -z $protocol ]] || export OTEL_EXPORTER_OTLP_PROTOCOL=$protocol
  echo "${protocol:-no protocol}: Python $(heard env/bin/opentelemetry-instrument env/bin/python service.py)," \
    "Node $(heard node service.cjs)"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
no protocol: Python gRPC, Node HTTP
grpc: Python gRPC, Node gRPC
http/protobuf: Python HTTP, Node HTTP
http/json: Python nothing, Node HTTP
EXPECTED
