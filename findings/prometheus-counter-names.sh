#!/usr/bin/env bash
# Question: a page of metrics has the counter `failovers`, as prom-client writes it; which name has it for a reader?
# Versions: prom-client 15.1.3, parse-prometheus-text-format 1.1.1 (npm), prometheus_client 0.26.0 (PyPI).
# One would guess: `failovers`; the name stands on the page, and Prometheus stores it.
# What is: the parser of Prometheus' own client for Python says `failovers_total`, and gives the same for a page that has that
#   name. A check in Python asks for a series that Prometheus has not. By OpenMetrics prom-client writes `failovers_total`, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq prometheus_client==0.26.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund prom-client@15.1.3 parse-prometheus-text-format@1.1.1

cat > write.js <<'WRITE'
const { Counter, Registry } = require("prom-client");
const parse = require("parse-prometheus-text-format");
const { writeFileSync } = require("fs");
(async () => {
  for (const kind of ["text", "openmetrics"]) {
    const registry = new Registry();
    if (kind === "openmetrics") registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    new Counter({ name: "failovers", help: "-", registers: [registry] }).inc(2);
    const page = await registry.metrics();
    writeFileSync(kind, page);
    console.log(`${kind}: ${page.split("\n").find((line) => /^failovers/.test(line))}`);
    if (kind === "text") console.log("  parse-prometheus-text-format:", parse(page)[0].name);
  }
})();
WRITE
cat > read.py <<'READ'
from pathlib import Path

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

for kind, reader in (("text", parser), ("openmetrics", openmetrics_parser)):
    (family,) = reader.text_string_to_metric_families(Path(kind).read_text())
    print(f"  prometheus_client of {kind}:", *(sample.name for sample in family.samples))
READ
{ node write.js && env/bin/python -W ignore read.py; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
text: failovers 2
  parse-prometheus-text-format: failovers
openmetrics: failovers_total 2
  prometheus_client of text: failovers_total
  prometheus_client of openmetrics: failovers_total
EXPECTED
