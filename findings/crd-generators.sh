#!/usr/bin/env bash
# Question: a program makes a CustomResourceDefinition of classes of Python that have an optional field, or a field of one
#   value; does Kubernetes take it as it is meant?
# Versions: kubecrd 0.5.0, kube-custom-resource 0.7.2 (PyPI).
# One would guess: yes: that is what the libraries are for.
# What is: kubecrd writes `type: [string, "null"]`, which API servers refuse (seen with kube-apiserver 1.36.2).
#   kube-custom-resource writes `const`, which Kubernetes does not have: API servers drop it, and take any text. Its own
#   `Optional` is fine, that of `typing` becomes an `anyOf` that API servers refuse. A policy becomes `shoppolicys`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kubecrd==0.5.0 kube-custom-resource==0.7.2
mkdir -p shops/v1
touch shops/__init__.py
cat > shops/v1/__init__.py <<'MODELS'
import typing

from kube_custom_resource import CustomResource, schema


class Spec(schema.BaseModel):
    theirs: schema.Optional[str] = None
    python: typing.Optional[int] = None
    fixed: typing.Literal["only"] = "only"
    either: typing.Literal["a", "b"] = "a"


class ShopPolicy(CustomResource):
    spec: Spec
MODELS
cat > generate.py <<'GENERATE'
import json
from dataclasses import dataclass
from typing import Optional

import kube_custom_resource
import kubecrd
import shops
import yaml


@dataclass
class Shop(kubecrd.KubeResourceBase):
    __group__ = "example.com"
    __version__ = "v1"
    name: str
    note: Optional[str] = None


def told(library: str, definition: dict) -> None:
    print(library, definition["spec"]["names"]["plural"])
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name, field in schema["properties"]["spec"]["properties"].items():
        print(f"  {name}: {json.dumps(field, sort_keys=True)}")


registry = kube_custom_resource.CustomResourceRegistry("example.com")
registry.discover_models(shops)
told("kubecrd", yaml.safe_load(Shop.crd_schema()))
told("kube-custom-resource", next(iter(registry)).kubernetes_resource())
GENERATE
env/bin/python -W ignore generate.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubecrd shops
  name: {"type": "string"}
  note: {"default": null, "type": ["string", "null"]}
kube-custom-resource shoppolicys
  theirs: {"nullable": true, "type": "string"}
  python: {"anyOf": [{"type": "integer"}, {"type": "null"}]}
  fixed: {"const": "only", "type": "string"}
  either: {"enum": ["a", "b"], "type": "string"}
EXPECTED
