#!/usr/bin/env bash
# Question: a program in a Pod runs for days; does its client read the token anew, which the kubelet replaces each hour?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes; tokens in Pods have been short-lived since Kubernetes 1.21.
# What is: five do, within a minute or when they are refused. pykube keeps the first token for ever, and gets 401 once that one
#   has expired.
program=$(mktemp)
cat > "$program" <<'SERVER'
import os

from serving import JsonHandler, core_with, serve

EMPTY = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
REFUSED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}
ANSWERS = core_with("namespaces", "Namespace", False, "list")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        valid = "second" if os.path.exists("replaced") else "first"
        if self.headers.get("Authorization", "").lower() != f"bearer {valid}":
            return self.say(REFUSED, 401)
        return self.say(ANSWERS.get(self.path.partition("?")[0].rstrip("/"), EMPTY))


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT
KUBERNETES_SERVICE_PORT=$(cat port)
of_pod=var/run/secrets/kubernetes.io/serviceaccount
mkdir -p $of_pod
cp ca.pem $of_pod/ca.crt
printf first > $of_pod/token
printf default > $of_pod/namespace

cat > ask.py <<'ASK'
import asyncio
import os
import sys
import time
from collections.abc import Callable

name, folder = sys.argv[1:]


def with_kubernetes() -> Callable[[], object]:
    from kubernetes import client
    from kubernetes.config.incluster_config import InClusterConfigLoader

    settings = client.Configuration()
    InClusterConfigLoader(f"{folder}/token", f"{folder}/ca.crt").load_and_set(settings)
    return client.CoreV1Api(client.ApiClient(settings)).list_namespace


def with_kubernetes_asyncio() -> Callable[[], object]:
    from kubernetes_asyncio import client
    from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader

    settings = client.Configuration()
    InClusterConfigLoader(f"{folder}/token", f"{folder}/ca.crt").load_and_set(settings)

    async def ask() -> None:
        async with client.ApiClient(settings) as connection:
            await client.CoreV1Api(connection).list_namespace()

    return lambda: asyncio.run(ask())


def with_lightkube() -> Callable[[], object]:
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import Namespace

    client = Client(KubeConfig.from_service_account(folder))
    return lambda: list(client.list(Namespace))


def with_kr8s() -> Callable[[], object]:
    import kr8s

    api = kr8s.api(serviceaccount=folder, kubeconfig="none")
    return lambda: list(api.get("namespaces"))


def with_pykube() -> Callable[[], object]:
    import pykube

    client = pykube.HTTPClient(pykube.KubeConfig.from_service_account(folder))
    return lambda: list(pykube.Namespace.objects(client))


def said(ask: Callable[[], object]) -> str:
    try:
        ask()
    except Exception as error:
        return "401" if "401" in str(error) else repr(error)
    return "answered"


asks = globals()[f"with_{name}"]()
before = said(asks)
open(f"ready_{name}", "w").close()
while not os.path.exists("waited"):
    time.sleep(0.5)
print(f"{name}: {before}, then {said(asks)}")
ASK
cat > ask.cjs <<'ASK'
const { existsSync, writeFileSync } = require("node:fs");
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromCluster(process.cwd());
const api = config.makeApiClient(k8s.CoreV1Api);
const said = () => api.listNamespace().then(() => "answered", (error) => `${error.code}`);
(async () => {
  const before = await said();
  writeFileSync("ready_client-node", "");
  while (!existsSync("waited")) await new Promise((go) => setTimeout(go, 500));
  console.log(`client-node: ${before}, then ${await said()}`);
})();
ASK
for client in "${clients[@]}"; do
  case $client in
    client-node) node ask.cjs > "told_$client" ;;
    *) env/bin/python -W ignore ask.py "$client" "$work/$of_pod" > "told_$client" 2> errors ;;
  esac &
done
for _ in $(seq 300); do [[ $(ls -d ready_* 2> /dev/null | wc -l) -lt ${#clients[@]} ]] || break; sleep 0.2; done
printf second > $of_pod/token
touch replaced
sleep 65
touch waited
for client in "${clients[@]}"; do
  for _ in $(seq 150); do [[ ! -s told_$client ]] || break; sleep 0.2; done
  cat "told_$client"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubernetes: answered, then answered
kubernetes_asyncio: answered, then answered
lightkube: answered, then answered
kr8s: answered, then answered
pykube: answered, then 401
client-node: answered, then answered
EXPECTED
