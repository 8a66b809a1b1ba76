#!/usr/bin/env bash
# Question: a job pushes its metrics to a Pushgateway, grouped by a label with a slash in its value; which group are they
#   in?
# Versions: prometheus-pushgateway 1.5.1 (Debian 12), prometheus_client 0.26.0 (PyPI), prom-client 15.1.3 (npm).
# One would guess: in that of the label; both clients take a job and labels, and escape what stands in the path.
# What is: prom-client does not escape a slash. `apps/v1/deployments` becomes the label `apps` and another one, `v1`, whose
#   value is `deployments`, without an error; with one slash the push fails. prometheus_client writes such values in base64.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
gateway=
trap '[[ -z $gateway ]] || kill "$gateway"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" prometheus-pushgateway=1.5.1-2+b5
python3 -m venv env
env/bin/pip install -qq prometheus_client==0.26.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund prom-client@15.1.3
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
start "$work/root" bin/prometheus-pushgateway --web.listen-address="127.0.0.1:$port" > log 2>&1 &
gateway=$!
for _ in $(seq 100); do ! curl -fs "http://127.0.0.1:$port/-/ready" > ready || break; sleep 0.1; done
cat > push.py <<'PUSH'
import sys

from prometheus_client import CollectorRegistry, Gauge, push_to_gateway

registry = CollectorRegistry()
Gauge("done", "Done.", registry=registry).set(1)
push_to_gateway(f"127.0.0.1:{sys.argv[1]}", job="python", registry=registry, grouping_key={"of": sys.argv[2]})
print("  prometheus_client: pushed")
PUSH
cat > push.cjs <<'PUSH'
const { Gauge, Pushgateway, Registry } = require("prom-client");
const [port, of] = process.argv.slice(2);
const registry = new Registry();
new Gauge({ name: "done", help: "Done.", registers: [registry] }).set(1);
new Pushgateway(`http://127.0.0.1:${port}`, {}, registry).push({ jobName: "node", groupings: { of } }).then(
  () => console.log("  prom-client: pushed"),
  (error) => console.log(`  prom-client: ${error.message.split("\n")[0]}`),
);
PUSH
cat > groups.py <<'GROUPS'
import json
import sys
from urllib.request import urlopen

for group in sorted(json.dumps(each["labels"]) for each in json.load(urlopen(sys.argv[1]))["data"]):
    print(f"  {group}")
GROUPS
{
  for value in 'a b' apps/v1 apps/v1/deployments; do
    echo "$value:"
    env/bin/python push.py "$port" "$value"
    node push.cjs "$port" "$value"
  done
  echo "groups:"
  env/bin/python groups.py "http://127.0.0.1:$port/api/v1/metrics"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
a b:
  prometheus_client: pushed
  prom-client: pushed
apps/v1:
  prometheus_client: pushed
  prom-client: push failed with status 400, odd number of components in label string "/of/apps/v1"
apps/v1/deployments:
  prometheus_client: pushed
  prom-client: pushed
groups:
  {"job": "node", "of": "a b"}
  {"job": "node", "of": "apps", "v1": "deployments"}
  {"job": "python", "of": "a b"}
  {"job": "python", "of": "apps/v1"}
  {"job": "python", "of": "apps/v1/deployments"}
EXPECTED
