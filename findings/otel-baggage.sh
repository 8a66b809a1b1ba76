#!/usr/bin/env bash
# Question: is the baggage that one OpenTelemetry SDK sends the baggage that another one reads?
# Versions: opentelemetry-api 1.45.2 (PyPI), @opentelemetry/core 2.12.1 with @opentelemetry/api 1.9.1 (npm).
# One would guess: yes; both speak W3C Baggage, which writes letters of another kind by percent.
# What is: Python writes a space as `+`, as in forms, which is a plus to Node. A plus that others send as it is, Python reads
#   as a space. Properties of an entry belong to its value in Python.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-api==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/core@2.12.1 @opentelemetry/api@1.9.1

cat > baggage.py <<'BAGGAGE'
import sys

from opentelemetry import baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator

propagator = W3CBaggagePropagator()
if sys.argv[1] == "write":
    sent: dict[str, str] = {}
    propagator.inject(sent, baggage.set_baggage("team", "site ops", baggage.set_baggage("zone", "eu+west")))
    print(sent["baggage"])
else:
    for key, value in sorted(baggage.get_all(propagator.extract({"baggage": sys.argv[2]})).items()):
        print(f"  Python reads {key}: {value}")
BAGGAGE
cat > baggage.js <<'BAGGAGE'
const api = require("@opentelemetry/api");
const propagator = new (require("@opentelemetry/core").W3CBaggagePropagator)();
const { propagation: of, ROOT_CONTEXT: root } = api;
const [verb, text] = process.argv.slice(2);
if (verb === "write") {
  const sent = {};
  const baggage = of.createBaggage({ team: { value: "site ops" }, zone: { value: "eu+west" } });
  propagator.inject(of.setBaggage(root, baggage), sent, api.defaultTextMapSetter);
  console.log(sent.baggage);
} else {
  const read = of.getBaggage(propagator.extract(root, { baggage: text }, api.defaultTextMapGetter));
  for (const [key, { value }] of read.getAllEntries().sort()) console.log(`  Node reads ${key}: ${value}`);
}
BAGGAGE
sent() {
  echo "$1 $2"
  env/bin/python baggage.py read "$2"
  node baggage.js read "$2"
}
{
  sent "Python sends" "$(env/bin/python baggage.py write)"
  sent "Node sends" "$(node baggage.js write)"
  sent "others send" "cluster=eu+west"
  sent "others send" "cluster=member1;ttl=5"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Python sends zone=eu%2Bwest,team=site+ops
  Python reads team: site ops
  Python reads zone: eu+west
  Node reads team: site+ops
  Node reads zone: eu+west
Node sends team=site%20ops,zone=eu%2Bwest
  Python reads team: site ops
  Python reads zone: eu+west
  Node reads team: site ops
  Node reads zone: eu+west
others send cluster=eu+west
  Python reads cluster: eu west
  Node reads cluster: eu+west
others send cluster=member1;ttl=5
  Python reads cluster: member1;ttl=5
  Node reads cluster: member1
EXPECTED
