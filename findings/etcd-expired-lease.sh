#!/usr/bin/env bash
# Question: a program holds a lease of etcd, or a lock by it, which has ended; who tells it, when it asks to keep the lease?
# Versions: etcd 3.4.23 (Debian 12), etcd3 0.12.0, etcd3gw 2.7.0, aetcd 1.0.0 (PyPI), etcd3 1.1.2 (npm).
# One would guess: each client raises; a leader that keeps its lease alive has to know that it is none any more.
# What is: only the client for Node does. The three for Python return from refresh() as before: with a TTL of 0 in the
#   answer, or with -1 as the number. So does refresh() of a lock that somebody else may hold by then. Look at the TTL, or
#   ask the lock.
set -euo pipefail
source "$(dirname "$0")/support/etcd.sh"
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" etcd-server=3.4.23-4+b4
clients_of_etcd
serve_etcd "$work/root"
cat > keep.py <<'KEEP'
import asyncio
import inspect
import sys
from collections.abc import Callable
from typing import Any

library, port = sys.argv[1], int(sys.argv[2])


async def call(function: Callable[[], Any]) -> Any:
    said = function()
    return await said if inspect.isawaitable(said) else said


async def tell(what: str, function: Callable[[], Any]) -> None:
    try:
        said = await call(function)
        said = said[0] if isinstance(said, list) else said
        print(f"  {what}: refresh() returns, TTL {getattr(said, 'TTL', getattr(said, 'ttl', said))}")
    except Exception as error:
        print(f"  {what}: {type(error).__name__}")


async def keep() -> None:
    if library == "etcd3":
        import etcd3

        client, name = etcd3.client(port=port), "etcd3"
    elif library == "etcd3gw":
        import etcd3gw

        client, name = etcd3gw.client(port=port, api_path="/v3/"), "etcd3gw"
    else:
        import aetcd

        client, name = aetcd.Client(port=port), b"aetcd"
    lease = await call(lambda: client.lease(60))
    lock = client.lock(name, ttl=60)
    await call(lock.acquire)
    await tell("a lease that is there", lease.refresh)
    await call(lease.revoke)
    await call(lock.lease.revoke)
    await tell("a lease that has ended", lease.refresh)
    await tell("a lock whose lease has ended", lock.refresh)


asyncio.run(keep())
KEEP
cat > keep.cjs <<'KEEP'
const { Etcd3 } = require("etcd3");
const client = new Etcd3({ hosts: `http://127.0.0.1:${process.argv[2]}` });
const tell = (what, said) => said.then(
  ({ TTL }) => console.log(`  ${what}: keepaliveOnce() returns, TTL ${TTL}`),
  (error) => console.log(`  ${what}: ${error.constructor.name}`),
);
(async () => {
  const lease = client.lease(60, { autoKeepAlive: false });
  const ID = await lease.grant();
  await tell("a lease that is there", lease.keepaliveOnce());
  await client.leaseClient.leaseRevoke({ ID });
  await tell("a lease that has ended", lease.keepaliveOnce());
  process.exit(0);
})();
KEEP
{
  for library in etcd3 etcd3gw aetcd; do
    echo "$library for Python:"
    [[ $library == etcd3 ]] && python=old || python=env
    "$python/bin/python" keep.py "$library" "$port" 2> errors
  done
  echo "etcd3 for Node:"
  node keep.cjs "$port"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
etcd3 for Python:
  a lease that is there: refresh() returns, TTL 60
  a lease that has ended: refresh() returns, TTL 0
  a lock whose lease has ended: refresh() returns, TTL 0
etcd3gw for Python:
  a lease that is there: refresh() returns, TTL 60
  a lease that has ended: refresh() returns, TTL -1
  a lock whose lease has ended: refresh() returns, TTL -1
aetcd for Python:
  a lease that is there: refresh() returns, TTL 60
  a lease that has ended: refresh() returns, TTL 0
  a lock whose lease has ended: refresh() returns, TTL 0
etcd3 for Node:
  a lease that is there: keepaliveOnce() returns, TTL 60
  a lease that has ended: EtcdLeaseInvalidError
EXPECTED
