#!/usr/bin/env bash
# Question: cloudcoil reads an object that holds another one of any kind, as ControllerRevisions hold templates, and writes
#   it; is the inner one still there?
# Versions: cloudcoil 0.6.0, cloudcoil.models.kubernetes 1.32.1.3, pydantic 2.14.4 (PyPI).
# One would guess: yes: the field is there for what nobody knows.
# What is: it is empty, without an error: `data: {}`. Who replaces a ControllerRevision so loses what a rollback needs. A
#   limit `cpu: 2`, which is a number, is refused.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq cloudcoil==0.6.0 cloudcoil.models.kubernetes==1.32.1.3 pydantic==2.14.4
cat > again.py <<'AGAIN'
from cloudcoil.models.kubernetes.apps.v1 import ControllerRevision
from cloudcoil.models.kubernetes.core.v1 import ResourceRequirements

template = {"spec": {"template": {"metadata": {"labels": {"app": "web"}}}}}
read = ControllerRevision.model_validate({"metadata": {"name": "web-1"}, "revision": 1, "data": template})
print(read.model_dump_json(by_alias=True, exclude_unset=True))
for cpu in ("2", 2):
    try:
        print(ResourceRequirements.model_validate({"limits": {"cpu": cpu}}).model_dump_json(exclude_unset=True))
    except ValueError as error:
        print(type(error).__name__)
AGAIN
env/bin/python -W ignore again.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
{"metadata":{"name":"web-1"},"data":{},"revision":1}
{"limits":{"cpu":"2"}}
ValidationError
EXPECTED
