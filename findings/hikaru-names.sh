#!/usr/bin/env bash
# Question: hikaru reads a manifest and writes it again; does it say the same afterwards?
# Versions: hikaru 1.3.0, hikaru-core 1.1.2, hikaru-model-28 1.1.0 (PyPI).
# One would guess: yes: its models are made for that.
# What is: keys of a ConfigMap, of labels and annotations that end with `_` as a word of Python may, lose it, and where both
#   keys are there one value is lost; `dollar_schema` becomes `$schema`. A definition loses its status subresource, whose
#   object is empty.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq hikaru==1.3.0 hikaru-core==1.1.2 hikaru-model-28==1.1.0
cat > settings.yaml <<'SETTINGS'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {from_: a}}
data: {class: one, class_: two, dollar_schema: three, name_: four}
SETTINGS
cat > shops.yaml <<'DEFINITION'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}]
DEFINITION
cat > again.py <<'AGAIN'
import json

import hikaru
import hikaru.model.rel_1_28.v1

hikaru.set_default_release("rel_1_28")
settings = hikaru.get_clean_dict(hikaru.load_full_yaml(path="settings.yaml")[0])
print(json.dumps(settings["metadata"]["labels"]), json.dumps(settings["data"], sort_keys=True))
shops = hikaru.get_clean_dict(hikaru.load_full_yaml(path="shops.yaml")[0])
print(json.dumps(shops["spec"]["versions"][0]["subresources"]))
AGAIN
env/bin/python -W ignore again.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
{"from": "a"} {"$schema": "three", "class": "two", "name_": "four"}
{}
EXPECTED
