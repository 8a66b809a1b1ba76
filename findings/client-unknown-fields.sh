#!/usr/bin/env bash
# Question: a program reads a Deployment of a newer API server, changes a label and replaces it; are fields still there that
#   its client library does not know?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm). `nextPolicy` and `nextSetting` stand for fields of a release after theirs.
# One would guess: yes, or an error; a program that changes a label is not asked about a field of a container.
# What is: four of five leave them out of what they write, without an error, so that the server clears them. So does the
#   KubernetesObjectApi of client-node, which is meant for objects of any kind. pykube writes what it has read.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import CORE, JsonHandler, serve

APPS = {"groupVersion": "apps/v1", "version": "v1"}
KIND = {"name": "deployments", "singularName": "deployment", "namespaced": True, "kind": "Deployment"}
KIND["verbs"] = ["get", "list", "update", "patch"]
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps", "versions": [APPS]}]},
    "/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [KIND]},
}
CONTAINER = {"name": "main", "image": "web:1", "nextPolicy": "Always"}
WEB = {
    "kind": "Deployment",
    "apiVersion": "apps/v1",
    "metadata": {"name": "web", "namespace": "default", "resourceVersion": "7", "labels": {"app": "web"}},
    "spec": {
        "nextSetting": {"seconds": 5},
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}
LIST = {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "7"}, "items": [WEB]}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(LIST if path.endswith("/deployments") else ANSWERS.get(path, WEB))

    def do_PUT(self) -> None:
        written = json.loads(self.asked())
        spec = written["spec"]
        found = [name for name, holder in (("nextSetting", spec), ("nextPolicy", spec["template"]["spec"]["containers"][0]))
                 if name in holder]
        self.see(f"{self.command} with {', '.join(found) or 'neither'}")
        self.say(WEB)

    do_PATCH = do_PUT


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubernetes kubernetes_asyncio lightkube pykube client-node
rm "$program"
kubeconfig "token: secret"

cat > change.py <<'CHANGE'
import asyncio
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config

    config.load_kube_config("config")
    web = client.AppsV1Api().read_namespaced_deployment("web", "default")
    web.metadata.labels["seen"] = "yes"
    client.AppsV1Api().replace_namespaced_deployment("web", "default", web)


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config

    async def change() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as connection:
            api = client.AppsV1Api(connection)
            web = await api.read_namespaced_deployment("web", "default")
            web.metadata.labels["seen"] = "yes"
            await api.replace_namespaced_deployment("web", "default", web)

    asyncio.run(change())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.apps_v1 import Deployment

    client = Client(KubeConfig.from_file("config"))
    web = client.get(Deployment, "web", namespace="default")
    web.metadata.labels["seen"] = "yes"
    client.replace(web)


def with_pykube() -> None:
    import pykube

    client = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    web = pykube.Deployment.objects(client).filter(namespace="default").get_by_name("web")
    web.labels["seen"] = "yes"
    web.update()


globals()[f"with_{sys.argv[1]}"]()
CHANGE
cat > change.cjs <<'CHANGE'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const of = { name: "web", namespace: "default" };
const typed = async () => {
  const api = config.makeApiClient(k8s.AppsV1Api);
  const web = await api.readNamespacedDeployment(of);
  web.metadata.labels.seen = "yes";
  await api.replaceNamespacedDeployment({ ...of, body: web });
};
const of_any_kind = async () => {
  const api = k8s.KubernetesObjectApi.makeApiClient(config);
  const web = await api.read({ apiVersion: "apps/v1", kind: "Deployment", metadata: of });
  web.metadata.labels.seen = "yes";
  await api.replace(web);
};
(process.argv[2] === "typed" ? typed : of_any_kind)();
CHANGE
: > seen
for client in kubernetes kubernetes_asyncio lightkube pykube; do
  env/bin/python -W ignore change.py $client
  echo "$client: $(tail -1 seen)"
done > told_here
for api in typed of_any_kind; do
  node change.cjs $api
  echo "client-node, $api: $(tail -1 seen)"
done >> told_here
cat told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubernetes: PUT with neither
kubernetes_asyncio: PUT with neither
lightkube: PUT with neither
pykube: PATCH with nextSetting, nextPolicy
client-node, typed: PUT with neither
client-node, of_any_kind: PUT with neither
EXPECTED
