#!/usr/bin/env bash
# Question: two programs take the lock `leader` in one etcd, each with its own client library; does one keep the other out?
# Versions: etcd and etcdctl 3.4.23 (Debian 12), etcd3 0.12.0, etcd3gw 2.7.0, aetcd 1.0.0 (PyPI), etcd3 1.1.2 (npm).
# One would guess: yes; they all have a lock with a name, and it is etcd that keeps it.
# What is: both hold it, unless they are of one family. etcd3 and etcd3gw for Python write the key `/locks/leader`, aetcd and
#   the library for Node `leader`, etcdctl a key of its lease below `leader/`. Nobody is told.
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

# Each takes a lock for a minute, and leaves it held.
cat > take.py <<'TAKE'
import asyncio
import sys

library, name, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if library == "aetcd":
    import aetcd

    async def take() -> bool:
        async with aetcd.Client(port=port) as client:
            return await client.lock(name.encode(), 60).acquire(timeout=1)

    got = asyncio.run(take())
elif library == "etcd3gw":
    import etcd3gw

    got = etcd3gw.client(port=port, api_path="/v3/").lock(name, ttl=60).acquire()
else:
    import etcd3

    got = etcd3.client(port=port).lock(name, ttl=60).acquire(timeout=1)
sys.exit(0 if got else 1)
TAKE
cat > take.js <<'TAKE'
const { Etcd3 } = require("etcd3");
const [name, port] = process.argv.slice(2);
new Etcd3({ hosts: `http://127.0.0.1:${port}` }).lock(name).ttl(60).acquire().then(() => process.exit(0), () => process.exit(1));
TAKE
take() {
  case $1 in
    etcd3) old/bin/python take.py "$@" "$port" ;;
    etcd3gw | aetcd) env/bin/python take.py "$@" "$port" ;;
    node) node take.js "$2" "$port" ;;
    etcdctl) ctl lock --ttl 60 "$2" sleep "${3:-0}" ;;
  esac
}
clients="etcd3 etcd3gw aetcd node etcdctl"
for holder in $clients; do
  kept=
  for other in $clients; do
    name=$holder-$other
    if [[ $holder == etcdctl ]]; then
      take etcdctl "$name" 15 > /dev/null 2>&1 &
      for _ in $(seq 100); do [[ -z $(ctl get --prefix "$name/" --keys-only) ]] || break; sleep 0.1; done
    else
      take "$holder" "$name" > /dev/null 2>&1
    fi
    if [[ $other == etcdctl ]]; then
      timeout 3 bash -c "$(declare -f of ctl take); work=$work; port=$port; take etcdctl $name" > /dev/null 2>&1 || kept+=" $other"
    else
      take "$other" "$name" > /dev/null 2>&1 || kept+=" $other"
    fi
  done
  echo "$holder holds it; kept out are:$kept"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
etcd3 holds it; kept out are: etcd3 etcd3gw
etcd3gw holds it; kept out are: etcd3 etcd3gw
aetcd holds it; kept out are: aetcd node
node holds it; kept out are: aetcd node
etcdctl holds it; kept out are: etcdctl
EXPECTED
