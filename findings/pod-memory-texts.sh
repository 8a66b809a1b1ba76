#!/usr/bin/env bash
# Question: libraries that make Pods of a user's words take a limit of memory; which one is it?
# Versions: jupyterhub-kubespawner 7.0.0 with jupyterhub 6.1.1, kfp 2.17.3 (PyPI).
# One would guess: that of Kubernetes: `1G` is 1000000000 bytes, `1Gi`, `1.5Gi` and `1k` are taken, and `1K` is not.
# What is: to kubespawner `1G` are 1073741824 bytes, and it refuses the texts of Kubernetes that end in `i`; its size of a
#   claim is passed on as it is, so that `1G` is two sizes in one configuration. kfp refuses `1.5Gi`, `1e9` and `1k`, and takes `1K`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jupyterhub-kubespawner==7.0.0 jupyterhub==6.1.1
python3 -m venv pipelines
pipelines/bin/pip install -qq kfp==2.17.3
cat > config <<'CONFIG'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
CONFIG
cat > spawn.py <<'SPAWN'
import asyncio
import sys

import traitlets
from kubespawner import KubeSpawner


async def pod(text: str) -> None:
    spawner = KubeSpawner(_mock=True, storage_capacity=text)
    try:
        spawner.mem_limit = text
        made = (await spawner.get_pod_manifest()).spec.containers[0].resources.limits["memory"]
    except traitlets.TraitError:
        made = "refused"
    claim = spawner.get_pvc_manifest().spec.resources.requests["storage"]
    print(f"  kubespawner: {made}, and a claim of {claim}")


asyncio.run(pod(sys.argv[1]))
SPAWN
cat > pipeline.py <<'PIPELINE'
import sys

import yaml
from kfp import compiler, dsl


@dsl.container_component
def step() -> dsl.ContainerSpec:
    return dsl.ContainerSpec(image="step", command=["true"])


try:

    @dsl.pipeline(name="work")
    def work() -> None:
        step().set_memory_limit(sys.argv[1])

    compiler.Compiler().compile(work, "pipeline.yaml")
    with open("pipeline.yaml") as file:
        made = next(yaml.safe_load_all(file))
    print("  kfp: " + made["deploymentSpec"]["executors"]["exec-step"]["container"]["resources"]["resourceMemoryLimit"])
except ValueError:
    print("  kfp: refused")
PIPELINE
for text in 1G 1Gi 1.5Gi 1e9 1k 1K; do
  echo "$text"
  KUBECONFIG=config env/bin/python -W ignore spawn.py "$text" 2> log
  pipelines/bin/python -W ignore pipeline.py "$text" 2> log
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
1G
  kubespawner: 1073741824, and a claim of 1G
  kfp: 1G
1Gi
  kubespawner: refused, and a claim of 1Gi
  kfp: 1Gi
1.5Gi
  kubespawner: refused, and a claim of 1.5Gi
  kfp: refused
1e9
  kubespawner: refused, and a claim of 1e9
  kfp: refused
1k
  kubespawner: refused, and a claim of 1k
  kfp: refused
1K
  kubespawner: 1024, and a claim of 1K
  kfp: 1K
EXPECTED
