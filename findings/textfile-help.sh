#!/usr/bin/env bash
# Question: two jobs of a machine each write a file for node_exporter's textfile collector, with one metric and another label,
#   and their help texts differ by a word; what is on the page?
# Versions: prometheus-node-exporter 1.5.0 (Debian 12), prometheus_client 0.26.0 (PyPI).
# One would guess: both samples, with either help text; or node_textfile_scrape_error is 1.
# What is: the sample of the second file is missing, and every metric that watches over it says that all is well: its file was
#   read, and there was no error. Only the log tells. With one help text both are there.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server"; done; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" prometheus-node-exporter=1.5.0-1+b6
python3 -m venv env
env/bin/pip install -qq prometheus_client==0.26.0
cat > backup.py <<'BACKUP'
import sys

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

folder, database, words = sys.argv[1:]
registry = CollectorRegistry()
Gauge("backup_bytes", words, ["database"], registry=registry).labels(database).set(7)
write_to_textfile(f"{folder}/{database}.prom", registry)
BACKUP
read -r -a ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in held))')
# page PORT WORDS...: files of two jobs with these help texts, and what Prometheus gets of them.
page() {
  local port=$1
  mkdir "$port"
  env/bin/python backup.py "$port" orders "$2"
  env/bin/python backup.py "$port" users "$3"
  start root bin/prometheus-node-exporter --collector.disable-defaults --collector.textfile \
    --collector.textfile.directory="$port" --web.listen-address="127.0.0.1:$port" > "$port.log" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do
    ! curl -s -o page -w 'answer %{http_code}\n' "127.0.0.1:$port/metrics" > code || break
    sleep 0.1
  done
  cat code
  grep -E '^(backup_bytes|node_textfile|node_scrape_collector_success)' page | sed -E "s/(file=\")[^\"]*\//\1/; s/(mtime.*) .*/\1 .../"
}
{
  echo "one help text"
  page "${ports[0]}" "Bytes of the backup." "Bytes of the backup."
  echo "two help texts"
  page "${ports[1]}" "Bytes of the backup." "Bytes of the last backup."
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
one help text
answer 200
backup_bytes{database="orders"} 7
backup_bytes{database="users"} 7
node_scrape_collector_success{collector="textfile"} 1
node_textfile_mtime_seconds{file="orders.prom"} ...
node_textfile_mtime_seconds{file="users.prom"} ...
node_textfile_scrape_error 0
two help texts
answer 200
backup_bytes{database="orders"} 7
node_scrape_collector_success{collector="textfile"} 1
node_textfile_mtime_seconds{file="orders.prom"} ...
node_textfile_mtime_seconds{file="users.prom"} ...
node_textfile_scrape_error 0
EXPECTED
