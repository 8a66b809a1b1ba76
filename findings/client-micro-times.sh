#!/usr/bin/env bash
# Question: what do clients write back when they have read a Lease whose `renewTime` is `2026-01-01T00:00:00.000000Z`?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1 (PyPI), @kubernetes/client-node
#   1.4.0 (npm).
# One would guess: the instant that was read, with the six digits that API servers ask of a MicroTime.
# What is: the three clients for Python leave the six zeros out, and a kube-apiserver 1.36 refuses that with 400 ("cannot
#   parse"). So read, change and replace fails for each Lease or Event that has a whole second. client-node keeps them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kubernetes==37.0.2 kubernetes_asyncio==36.1.0 lightkube==1.0.1
echo '{}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0

cat > times.py <<'TIMES'
import asyncio
import json

import kubernetes
import kubernetes_asyncio
from lightkube.resources.coordination_v1 import Lease

READ = ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.123456Z")


class Answer:
    def __init__(self, lease: dict) -> None:
        self.data = json.dumps(lease)


def show(client: str, lease: dict) -> None:
    print(f"{client}: {lease['spec']['renewTime']}")


async def main() -> None:
    for time in READ:
        lease = {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {"renewTime": time}
        }
        api = kubernetes.client.ApiClient()
        show("kubernetes", api.sanitize_for_serialization(api.deserialize(json.dumps(lease), "V1Lease", "application/json")))
        async with kubernetes_asyncio.client.ApiClient() as api:
            read = api.deserialize(Answer(lease), "V1Lease")
            show("kubernetes_asyncio", api.sanitize_for_serialization(read))
        show("lightkube", Lease.from_dict(lease).to_dict())


asyncio.run(main())
TIMES
cat > times.mjs <<'TIMES'
import { KubernetesObjectApi } from "@kubernetes/client-node";
import { ObjectSerializer } from "./node_modules/@kubernetes/client-node/dist/serializer.js";
for (const renewTime of ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.123456Z"]) {
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "a" }, spec: { renewTime } };
  const read = ObjectSerializer.deserialize(lease, "V1Lease", "");
  console.log("client-node:", JSON.parse(JSON.stringify(ObjectSerializer.serialize(read, "V1Lease", ""))).spec.renewTime);
}
TIMES
{ env/bin/python times.py && node times.mjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubernetes: 2026-01-01T00:00:00+00:00
kubernetes_asyncio: 2026-01-01T00:00:00+00:00
lightkube: 2026-01-01T00:00:00Z
kubernetes: 2026-01-01T00:00:00.123456+00:00
kubernetes_asyncio: 2026-01-01T00:00:00.123456+00:00
lightkube: 2026-01-01T00:00:00.123456Z
client-node: 2026-01-01T00:00:00.000000Z
client-node: 2026-01-01T00:00:00.123456Z
EXPECTED
