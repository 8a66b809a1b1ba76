#!/usr/bin/env bash
# Question: which number do clients of Prometheus' HTTP API make of `+Inf`, as a ratio or the last bucket has it?
# Versions: prometheus-query 3.5.1 (npm), prometheus-api-client 0.7.2, prometheus-pandas 0.3.3 (PyPI).
# One would guess: infinity; the API writes `+Inf`, `-Inf` and `NaN`, since JSON has no such numbers.
# What is: prometheus-query makes NaN of all three. A check that something is above a bound is false for infinity, and a sum
#   over the result is NaN. Both clients for Python say infinity.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq prometheus-api-client==0.7.2 prometheus-pandas==0.3.3
echo '{}' > package.json
npm install --silent --no-audit --no-fund prometheus-query@3.5.1
cat > prometheus.py <<'SERVER'
import http.server
import json
from pathlib import Path

VALUES = ("+Inf", "-Inf", "NaN", "1e+06")
RESULT = [{"metric": {"of": value}, "value": [1767225600, value]} for value in VALUES]
ANSWER = json.dumps({"status": "success", "data": {"resultType": "vector", "result": RESULT}}).encode()


class Prometheus(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
Path("port").write_text(str(server.server_port))
server.serve_forever()
SERVER
env/bin/python prometheus.py &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
cat > ask.py <<'ASK'
import sys
import warnings

warnings.simplefilter("ignore")
from prometheus_api_client import MetricSnapshotDataFrame, PrometheusConnect
from prometheus_pandas.query import Prometheus

url = f"http://127.0.0.1:{sys.argv[1]}"
frame = MetricSnapshotDataFrame(PrometheusConnect(url=url).custom_query("ratio"))
print("prometheus-api-client:", *(f"{row['of']} is {row['value']}," for _, row in frame.iterrows()))
print("prometheus-pandas:", *(f"{name[5:-2]} is {value}," for name, value in Prometheus(url).query("ratio").items()))
ASK
cat > ask.cjs <<'ASK'
const { PrometheusDriver } = require("prometheus-query");
const driver = new PrometheusDriver({ endpoint: `http://127.0.0.1:${process.argv[2]}`, baseURL: "/api/v1" });
driver.instantQuery("ratio").then(({ result }) => {
  console.log("prometheus-query:", ...result.map(({ metric, value }) => `${metric.labels.of} is ${value.value},`));
});
ASK
{ env/bin/python ask.py "$(< port)"; node ask.cjs "$(< port)"; } | sed 's/,$//' | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
prometheus-api-client: +Inf is inf, -Inf is -inf, NaN is nan, 1e+06 is 1000000.0
prometheus-pandas: +Inf is inf, -Inf is -inf, NaN is nan, 1e+06 is 1000000.0
prometheus-query: +Inf is NaN, -Inf is NaN, NaN is NaN, 1e+06 is 1000000
EXPECTED
