#!/usr/bin/env bash
# Question: an operator of kopf adopts what it makes, also a ClusterRole, or a ConfigMap in a namespace that it names; what
#   is written into them?
# Versions: kopf 1.45.2 (PyPI).
# One would guess: an owner where Kubernetes allows one, and an error or none for these: an owner in a namespace may own
#   nothing outside of it.
# What is: an owner reference all the same, and the ClusterRole gets a namespace. The garbage collector of Kubernetes takes
#   an owner in another namespace for absent, and deletes the ConfigMap. Labels of the owner go to all, but not into the Pod
#   template.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kopf==1.45.2
cat > adopt.py <<'ADOPT'
import kopf

OWNER = {
    "apiVersion": "acme.example/v1", "kind": "Fleet",
    "metadata": {"name": "fleet", "namespace": "team", "uid": "1", "labels": {"app": "fleet"}},
}
TEMPLATE = {"metadata": {}, "spec": {}}
for child in (
    {"kind": "ConfigMap", "metadata": {"name": "a"}},
    {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}},
    {"kind": "ClusterRole", "metadata": {"name": "a"}},
    {"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": TEMPLATE}},
):
    before = f"{child['kind']} in {child['metadata'].get('namespace', 'no namespace')}"
    kopf.adopt(child, owner=OWNER)
    made = child["metadata"]
    (owner,) = made["ownerReferences"]
    print(f"{before}: in {made['namespace']}, of {owner['kind']} {owner['name']}, labels {made['labels']}")
print("Pod template:", TEMPLATE["metadata"])
ADOPT
env/bin/python adopt.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
ConfigMap in no namespace: in team, of Fleet fleet, labels {'app': 'fleet'}
ConfigMap in other: in other, of Fleet fleet, labels {'app': 'fleet'}
ClusterRole in no namespace: in team, of Fleet fleet, labels {'app': 'fleet'}
Deployment in no namespace: in team, of Fleet fleet, labels {'app': 'fleet'}
Pod template: {}
EXPECTED
