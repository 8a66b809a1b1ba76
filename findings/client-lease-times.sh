#!/usr/bin/env bash
# Question: which times do the leader elections of Python's clients write into their Lease, where the clock is that of Tokyo?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0 (PyPI).
# One would guess: the present one, in UTC, as the `Z` of the field says.
# What is: so does kubernetes. kubernetes_asyncio writes the local time with a `Z`, which is nine hours ahead there, and as far
#   behind in America. Who judges a Lease by its `renewTime` holds a dead leader for alive, or a live one for dead. The
#   ConfigMap locks of both write the local time without a zone, and the seconds of the lease as a text.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, serve

MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        self.say(MISSING, 404)

    def do_POST(self) -> None:
        written = json.loads(self.asked())
        self.see(json.dumps(written.get("spec") or json.loads(*written["metadata"]["annotations"].values())))
        self.say(written, 201)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubernetes kubernetes_asyncio
rm "$program"
kubeconfig "token: secret"

# Each takes the lock of a Lease or a ConfigMap, and ends at once.
cat > lead.py <<'LEAD'
import asyncio
import importlib
import inspect
import os
import sys

client, module, lock = sys.argv[1:]
election = importlib.import_module(f"{client}.leaderelection.leaderelection")
settings = importlib.import_module(f"{client}.leaderelection.electionconfig")
locks = importlib.import_module(f"{client}.leaderelection.resourcelock.{module}")
library = importlib.import_module(client)


def leave() -> None:
    os._exit(0)


async def leave_soon() -> None:
    leave()


async def lead() -> None:
    loaded = library.config.load_kube_config("config")
    if inspect.isawaitable(loaded):
        await loaded
    of_client = [library.client.ApiClient()] if client == "kubernetes_asyncio" else []
    calls = {"onstarted_leading": leave_soon if of_client else leave, "onstopped_leading": leave_soon if of_client else leave}
    config = settings.Config(
        getattr(locks, lock)("leader", "default", "me", *of_client),
        lease_duration=15, renew_deadline=10, retry_period=2, **calls,
    )
    running = election.LeaderElection(config).run()
    if inspect.isawaitable(running):
        await running


asyncio.run(lead())
LEAD
cat > tell.py <<'TELL'
import json
import re
import sys
from datetime import UTC, datetime

with open("seen") as seen:
    record = json.loads(seen.readlines()[-1])
text = record["renewTime"]
read = datetime.fromisoformat(text.replace("Z", "+00:00"))
ahead = round((read.replace(tzinfo=read.tzinfo or UTC) - datetime.now(UTC)).total_seconds() / 3600)
zone = re.search(r"(Z|\+00:00)?$", text)[0] or "no zone"
print(f"{sys.argv[1]}: {zone}, {ahead} hours ahead, for {json.dumps(record['leaseDurationSeconds'])} seconds")
TELL
for lock in "leaselock LeaseLock" "configmaplock ConfigMapLock"; do
  for client in kubernetes kubernetes_asyncio; do
    # shellcheck disable=SC2086
    TZ=Asia/Tokyo env/bin/python -W ignore lead.py $client $lock > said 2>&1
    env/bin/python tell.py "$client, ${lock#* }"
  done
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubernetes, LeaseLock: +00:00, 0 hours ahead, for 15 seconds
kubernetes_asyncio, LeaseLock: Z, 9 hours ahead, for 15 seconds
kubernetes, ConfigMapLock: no zone, 9 hours ahead, for "15" seconds
kubernetes_asyncio, ConfigMapLock: no zone, 9 hours ahead, for "15" seconds
EXPECTED
