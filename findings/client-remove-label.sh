#!/usr/bin/env bash
# Question: a program reads an object, takes a label off, and writes the object back by its client; is the label gone?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes, by whatever writes an object that was read; or an error.
# What is: `update()` of pykube puts back what it has read before, without an error, so that the label stays. By `patch_...`
#   of kubernetes with the object it stays, too, as a patch says nothing of what it leaves out. replace takes it off.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "update", "patch")
META = {"name": "settings", "namespace": "default", "resourceVersion": "7", "labels": {"app": "web", "old": "yes"}}
SETTINGS = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": META}
LIST = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [SETTINGS]}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(LIST if path.endswith("/configmaps") else ANSWERS.get(path, SETTINGS))

    def do_PUT(self) -> None:
        written = json.loads(self.asked())
        self.see("is there" if "old" in written["metadata"].get("labels", {}) else "is gone")
        self.say(SETTINGS)

    def do_PATCH(self) -> None:
        written = json.loads(self.asked())
        if isinstance(written, list):
            gone = {"op": "remove", "path": "/metadata/labels/old"} in written
        else:
            gone = written["metadata"].get("labels", {}).get("old", "yes") is None
        self.see("is gone" if gone else "is there")
        self.say(SETTINGS)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
kubeconfig "token: secret"
cat > take_off.py <<'CODE'
import asyncio
import sys


def by_kubernetes_replace() -> None:
    from kubernetes import client, config

    config.load_kube_config("config")
    settings = client.CoreV1Api().read_namespaced_config_map("settings", "default")
    del settings.metadata.labels["old"]
    client.CoreV1Api().replace_namespaced_config_map("settings", "default", settings)


def by_kubernetes_patch() -> None:
    from kubernetes import client, config

    config.load_kube_config("config")
    settings = client.CoreV1Api().read_namespaced_config_map("settings", "default")
    del settings.metadata.labels["old"]
    client.CoreV1Api().patch_namespaced_config_map("settings", "default", settings)


def by_kubernetes_asyncio_replace() -> None:
    from kubernetes_asyncio import client, config

    async def take_off() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as connection:
            api = client.CoreV1Api(connection)
            settings = await api.read_namespaced_config_map("settings", "default")
            del settings.metadata.labels["old"]
            await api.replace_namespaced_config_map("settings", "default", settings)

    asyncio.run(take_off())


def by_lightkube_replace() -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import ConfigMap

    client = Client(KubeConfig.from_file("config"))
    settings = client.get(ConfigMap, "settings", namespace="default")
    del settings.metadata.labels["old"]
    client.replace(settings)


def by_kr8s_remove_label() -> None:
    import kr8s
    from kr8s.objects import ConfigMap

    ConfigMap.get("settings", namespace="default", api=kr8s.api(kubeconfig="config")).remove_label("old")


def by_pykube_update() -> None:
    import pykube

    client = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    settings = pykube.ConfigMap.objects(client).filter(namespace="default").get_by_name("settings")
    del settings.labels["old"]
    settings.update()


globals()[f"by_{sys.argv[1]}"]()
CODE
cat > take_off.cjs <<'CODE'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const api = config.makeApiClient(k8s.CoreV1Api);
const of = { name: "settings", namespace: "default" };
(async () => {
  const settings = await api.readNamespacedConfigMap(of);
  delete settings.metadata.labels.old;
  await api.replaceNamespacedConfigMap({ ...of, body: settings });
})();
CODE
{
  for way in kubernetes_replace kubernetes_patch kubernetes_asyncio_replace lightkube_replace kr8s_remove_label pykube_update; do
    env/bin/python -W ignore take_off.py $way
    echo "$way: the label $(tail -1 seen)"
  done
  node take_off.cjs
  echo "client-node replace: the label $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubernetes_replace: the label is gone
kubernetes_patch: the label is there
kubernetes_asyncio_replace: the label is gone
lightkube_replace: the label is gone
kr8s_remove_label: the label is gone
pykube_update: the label is there
client-node replace: the label is gone
EXPECTED
