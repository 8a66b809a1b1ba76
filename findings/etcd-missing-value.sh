#!/usr/bin/env bash
# Question: a transaction of etcd puts a key if its value is not yet `done`; what if the key is not there at all?
# Versions: etcd and etcdctl 3.4.23 (Debian 12), etcd3 0.12.0 (PyPI), etcd3 1.1.2 (npm).
# One would guess: a key that is not there has not the value `done`, so that the comparison holds and the key is put.
# What is: each comparison of the value of a missing key fails, `=` and `!=` alike, without an error; the first put never
#   happens. Comparisons of its version, which is 0 then, hold as one would think.
set -euo pipefail
source "$(dirname "$0")/support/etcd.sh"
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" etcd-server=3.4.23-4+b4 etcd-client=3.4.23-4+b4
clients_of_etcd
serve_etcd "$work/root"
cat > put.py <<'PUT'
import sys

import etcd3

client = etcd3.client(port=int(sys.argv[1]))
of = client.transactions
for key in ("missing", "there"):
    tests = {
        "value = done": of.value(key) == "done",
        "value != done": of.value(key) != "done",
        "version = 0": of.version(key) == 0,
        "version != 1": of.version(key) != 1,
    }
    for words, test in tests.items():
        held, _ = client.transaction(compare=[test], success=[], failure=[])
        print(f"etcd3 for Python, key {key}, {words}: {held}")
PUT
cat > put.cjs <<'PUT'
const { Etcd3 } = require("etcd3");
const client = new Etcd3({ hosts: `http://127.0.0.1:${process.argv[2]}` });
(async () => {
  for (const key of ["missing", "there"])
    for (const [words, test] of [["value = done", ["Value", "==", "done"]], ["value != done", ["Value", "!=", "done"]]]) {
      const { succeeded } = await client.if(key, ...test).then(client.get(key)).commit();
      console.log(`etcd3 for Node, key ${key}, ${words}: ${succeeded}`);
    }
  process.exit(0);
})();
PUT
etcdctl() { ETCDCTL_API=3 of root bin/etcdctl --endpoints "http://127.0.0.1:$port" "$@"; }
etcdctl put there yet > said
{
  old/bin/python -W ignore put.py "$port"
  node put.cjs "$port"
  for key in missing there; do
    for sign in = '!='; do
      printf 'value("%s") %s "done"\n\nget x\n\nget x\n\n' "$key" "$sign" | etcdctl txn 2>&1 | sed "s/^/etcdctl, key $key, value $sign done: /;q"
    done
  done
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
etcd3 for Python, key missing, value = done: False
etcd3 for Python, key missing, value != done: False
etcd3 for Python, key missing, version = 0: True
etcd3 for Python, key missing, version != 1: True
etcd3 for Python, key there, value = done: False
etcd3 for Python, key there, value != done: True
etcd3 for Python, key there, version = 0: False
etcd3 for Python, key there, version != 1: False
etcd3 for Node, key missing, value = done: false
etcd3 for Node, key missing, value != done: false
etcd3 for Node, key there, value = done: false
etcd3 for Node, key there, value != done: true
etcdctl, key missing, value = done: FAILURE
etcdctl, key missing, value != done: FAILURE
etcdctl, key there, value = done: FAILURE
etcdctl, key there, value != done: SUCCESS
EXPECTED
