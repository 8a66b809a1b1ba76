#!/usr/bin/env bash
# Question: a program watches a key of etcd from a revision that has been compacted; does it hear that changes are lost?
# Versions: etcd and etcdctl 3.4.23 (Debian 12), etcd3 0.12.0, etcd3gw 2.7.0, aetcd 1.0.0 (PyPI), etcd3 1.1.2 (npm).
# One would guess: yes, as an error; etcd says so, and names the first revision that is still there.
# What is: so it is in three libraries. etcd3gw asks by HTTP, and gives its loop over events neither the error nor any
#   later change.
set -euo pipefail
source "$(dirname "$0")/support/etcd.sh"
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" etcd-server=3.4.23-4+b4 etcd-client=3.4.23-4+b4
clients_of_etcd
serve_etcd "$work/root"
export ETCDCTL_API=3
ctl() { of "$work/root" bin/etcdctl --endpoints "127.0.0.1:$port" "$@"; }
for value in 1 2 3 4; do ctl put key "$value" > put; done
ctl compact 5 > put

# Each watches from revision 2 on, for five seconds.
cat > watch.py <<'WATCH'
import asyncio
import os
import sys
import threading

library, port = sys.argv[1], int(sys.argv[2])


def tell(said: str) -> None:
    print(f"{library}: {said}", flush=True)
    os._exit(0)


threading.Timer(5, tell, ["hears nothing"]).start()
try:
    if library == "aetcd":
        import aetcd

        async def watch() -> None:
            async with aetcd.Client(port=port) as client:
                async for event in await client.watch(b"key", start_revision=2):
                    tell(f"hears of the value {event.kv.value.decode()}")

        asyncio.run(watch())
    elif library == "etcd3gw":
        import etcd3gw

        events, _ = etcd3gw.client(port=port, api_path="/v3/").watch("key", start_revision=2)
        for event in events:
            tell(f"hears of the value {event['kv']['value'].decode()}")
    else:
        import etcd3

        events, _ = etcd3.client(port=port).watch("key", start_revision=2)
        for event in events:
            tell(f"hears of the value {event.value.decode()}")
    tell("the loop ends")
except Exception as error:
    tell(f"raises {type(error).__name__}")
WATCH
cat > watch.cjs <<'WATCH'
const { Etcd3 } = require("etcd3");
const tell = (said) => (console.log(`etcd3 of Node: ${said}`), process.exit(0));
setTimeout(tell, 5000, "hears nothing");
const client = new Etcd3({ hosts: `http://127.0.0.1:${process.argv[2]}` });
client.watch().key("key").startRevision("2").create().then(
  (watcher) => {
    watcher.on("put", ({ value }) => tell(`hears of the value ${value}`));
    watcher.on("error", (error) => tell(`has the error ${error.constructor.name}`));
    watcher.on("end", () => tell("the watch ends"));
  },
  (error) => tell(`has the error ${error.constructor.name}`),
);
WATCH
{
  timeout 5 bash -c "$(declare -f of ctl); work=$work; port=$port; ctl watch --rev 2 key" > said 2>&1 || true
  echo "etcdctl: $(grep -o 'required revision has been compacted' said | head -1 | grep . || echo hears nothing)"
  old/bin/python watch.py etcd3 "$port" 2> errors
  env/bin/python watch.py etcd3gw "$port" 2> errors
  env/bin/python watch.py aetcd "$port" 2> errors
  node watch.cjs "$port" 2> errors
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
etcdctl: required revision has been compacted
etcd3: raises RevisionCompactedError
etcd3gw: hears nothing
aetcd: raises RevisionCompactedError
etcd3 of Node: has the error EtcdError
EXPECTED
