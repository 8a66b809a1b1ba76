#!/usr/bin/env bash
# Question: Prometheus asks for OpenMetrics, and reads it; does `promtool check metrics` judge the page that it gets?
# Versions: promtool 2.42.0 (Debian 12), prometheus_client 0.26.0 (PyPI).
# One would guess: yes: it is a part of Prometheus, and the page is that of the client library.
# What is: it reads the older text format alone. It refuses a page with an exemplar, an Info or an Enum, and says of a
#   counter that its help is missing, which is there. Gauges and histograms pass.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" prometheus=2.42.0+ds-5+deb12u1
python3 -m venv env
env/bin/pip install -qq prometheus_client==0.26.0
cat > page.py <<'PAGE'
import os
import sys

os.environ["PROMETHEUS_DISABLE_CREATED_SERIES"] = "True"
from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

registry = CollectorRegistry()
match sys.argv[1]:
    case "gauge":
        Gauge("clusters", "Clusters.", registry=registry)
    case "counter":
        Counter("moves", "Moves.", registry=registry)
    case "counter with an exemplar":
        Counter("moves", "Moves.", registry=registry).inc(exemplar={"trace_id": "1"})
    case "histogram":
        Histogram("wait_seconds", "Waits.", registry=registry, buckets=(1, 2))
    case "info":
        Info("release", "Release.", registry=registry).info({"version": "1"})
    case "enum":
        Enum("state", "State.", registry=registry, states=["up", "down"])
write = generate_openmetrics if sys.argv[2] == "OpenMetrics" else generate_latest
sys.stdout.write(write(registry).decode())
PAGE
for kind in gauge counter "counter with an exemplar" histogram info enum; do
  echo "$kind"
  for format in text OpenMetrics; do
    env/bin/python page.py "$kind" "$format" > page
    root/usr/bin/promtool check metrics < page > said 2>&1 && said="passes" || said=$(head -1 said)
    echo "  $format: $said"
  done
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
gauge
  text: passes
  OpenMetrics: passes
counter
  text: passes
  OpenMetrics: moves_total no help text
counter with an exemplar
  text: passes
  OpenMetrics: error while linting: text format parsing error in line 3: expected integer as timestamp, got "#"
histogram
  text: passes
  OpenMetrics: passes
info
  text: passes
  OpenMetrics: error while linting: text format parsing error in line 2: unknown metric type "info"
enum
  text: passes
  OpenMetrics: error while linting: text format parsing error in line 2: unknown metric type "stateset"
EXPECTED
