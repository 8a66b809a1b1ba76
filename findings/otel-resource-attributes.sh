#!/usr/bin/env bash
# Question: does OTEL_RESOURCE_ATTRIBUTES, which operators set in Pods, say the same to all SDKs of OpenTelemetry?
# Versions: opentelemetry-sdk 1.45.2 (PyPI), @opentelemetry/resources 2.12.1 with @opentelemetry/api 1.9.1 (npm).
# One would guess: yes; the format is that of W3C Baggage, whose values may have a `=`.
# What is: one `=` within a value makes Node leave out all attributes, those of its cluster and Pod too. Python takes the
#   first `=` for the separator. Both read `%3D`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq opentelemetry-sdk==1.45.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @opentelemetry/resources@2.12.1 @opentelemetry/api@1.9.1

cat > read.py <<'READ'
from opentelemetry.sdk.resources import OTELResourceDetector

print("  Python:", *(f"{key} is {value};" for key, value in sorted(OTELResourceDetector().detect().attributes.items())))
READ
cat > read.js <<'READ'
const { envDetector, detectResources } = require("@opentelemetry/resources");
const read = Object.entries(detectResources({ detectors: [envDetector] }).attributes).sort();
console.log(["  Node:", ...read.map(([key, value]) => `${key} is ${value};`)].join(" "));
READ
for attributes in k8s.cluster.name=member1,team=shop k8s.cluster.name=member1,query=a=b k8s.cluster.name=member1,query=a%3Db; do
  echo "$attributes"
  OTEL_RESOURCE_ATTRIBUTES=$attributes env/bin/python read.py 2> /dev/null
  OTEL_RESOURCE_ATTRIBUTES=$attributes node read.js
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
k8s.cluster.name=member1,team=shop
  Python: k8s.cluster.name is member1; team is shop;
  Node: k8s.cluster.name is member1; team is shop;
k8s.cluster.name=member1,query=a=b
  Python: k8s.cluster.name is member1; query is a=b;
  Node:
k8s.cluster.name=member1,query=a%3Db
  Python: k8s.cluster.name is member1; query is a=b;
  Node: k8s.cluster.name is member1; query is a=b;
EXPECTED
