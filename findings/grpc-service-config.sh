#!/usr/bin/env bash
# Question: does a service config, which clients of gRPC get from their DNS or their caller, mean the same in Node as in others?
# Versions: @grpc/grpc-js 1.14.7 (npm), grpcio 1.82.0, grpcio-health-checking 1.81.1, protobuf 6.33.6 (PyPI).
# One would guess: yes; the config is protobuf's JSON, and gRPC has one document for it.
# What is: Node takes the digits behind the point of `timeout` for nanoseconds. So `0.900s`, as protobuf writes 900 ms, fails
#   each call at once, and only `0.900000000s` is what it says. `healthCheckConfig` means nothing to Node, so that it calls a
#   service that says it is not serving; Python does not.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq grpcio==1.82.0 grpcio-health-checking==1.81.1 protobuf==6.33.6
echo '{}' > package.json
npm install --silent --no-audit --no-fund @grpc/grpc-js@1.14.7

cat > serve.py <<'SERVE'
from concurrent import futures

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


class Answering(grpc.GenericRpcHandler):
    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return grpc.unary_unary_rpc_method_handler(lambda _, __: b"") if "Health" not in call.method else None


server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Answering(),))
told = health.HealthServicer()
told.set("work", health_pb2.HealthCheckResponse.NOT_SERVING)
health_pb2_grpc.add_HealthServicer_to_server(told, server)
bound = server.add_insecure_port("127.0.0.1:0")
server.start()
with open("port", "w") as port:
    port.write(str(bound))
server.wait_for_termination()
SERVE
cat > call.py <<'CALL'
import sys

import grpc

port, config = sys.argv[1:]
with grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.service_config", config)]) as channel:
    try:
        channel.unary_unary("/test.Work/Do")(b"", timeout=10)
        print("Python is answered")
    except grpc.RpcError as error:
        print("Python has", error.code().name)
CALL
cat > call.cjs <<'CALL'
const grpc = require("@grpc/grpc-js");
const [port, config] = process.argv.slice(2);
const same = (bytes) => bytes;
const method = (path) => ({
  path, requestStream: false, responseStream: false,
  requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
});
const Client = grpc.makeGenericClientConstructor({ connect: method("/test.Other/Do"), work: method("/test.Work/Do") }, "Test");
const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), { "grpc.service_config": config });
client.connect(Buffer.alloc(0), () =>
  client.work(Buffer.alloc(0), (error) => {
    console.log("Node", error ? `has ${grpc.status[error.code]}` : "is answered");
    process.exit();
  }),
);
CALL
env/bin/python serve.py &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
of_protobuf=$(env/bin/python -c 'from google.protobuf import duration_pb2, json_format
print(json_format.MessageToJson(duration_pb2.Duration(nanos=900_000_000)).strip("\""))')
{
  echo "protobuf writes $of_protobuf"
  for timeout in "$of_protobuf" 0.900000000s 1.900s; do
    echo "timeout $timeout: $(node call.cjs "$(cat port)" '{"methodConfig": [{"name": [{"service": "test.Work"}],
      "timeout": "'"$timeout"'"}]}')"
  done
  config='{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": "work"}}'
  echo "not serving: $(node call.cjs "$(cat port)" "$config")"
  echo "not serving: $(env/bin/python call.py "$(cat port)" "$config" 2> errors)"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
protobuf writes 0.900s
timeout 0.900s: Node has DEADLINE_EXCEEDED
timeout 0.900000000s: Node is answered
timeout 1.900s: Node is answered
not serving: Node is answered
not serving: Python has UNAVAILABLE
EXPECTED
