#!/usr/bin/env bash
# Question: do types that are generated from a CRD take each object that API servers take for it?
# Versions: datamodel-code-generator 0.89.0, pydantic 2.14.4 (PyPI), openapi-typescript 7.13.0, json-schema-to-typescript
#   16.0.0, typescript 5.9.3 (npm).
# One would guess: yes; an unknown `x-kubernetes-` key may make a type wider, and never narrower.
# What is: none takes all four. Models for Python leave out, without an error, what `x-kubernetes-preserve-unknown-fields`
#   allows beside fields with names, and refuse `5m` of the format duration. openapi-typescript refuses what
#   the first key allows, and each field of an embedded manifest; json-schema-to-typescript has an object for a bare
#   int-or-string.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq datamodel-code-generator==0.89.0 pydantic==2.14.4
echo '{}' > package.json
npm install --silent --no-audit --no-fund openapi-typescript@7.13.0 json-schema-to-typescript@16.0.0 typescript@5.9.3

cat > schema.json <<'SCHEMA'
{"title": "Shop", "type": "object", "properties": {
  "manifest": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
  "values": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"size": {"type": "integer"}}},
  "port": {"x-kubernetes-int-or-string": true},
  "timeout": {"type": "string", "format": "duration"}
}}
SCHEMA
cat > objects.json <<'OBJECTS'
[{"manifest": {"apiVersion": "v1", "kind": "ConfigMap"}}, {"values": {"size": 1, "colour": "red"}}, {"port": 8080},
 {"timeout": "5m"}]
OBJECTS
env/bin/python - <<'WRITE'
import json
from pathlib import Path

schema, objects = (json.loads(Path(name).read_text()) for name in ("schema.json", "objects.json"))
whole = {"openapi": "3.0.0", "info": {"title": "a", "version": "1"}, "paths": {}, "components": {"schemas": {"Shop": schema}}}
Path("openapi.json").write_text(json.dumps(whole))
uses = "".join(f"export const shop{place}: Shop = {json.dumps(shop)};\n" for place, shop in enumerate(objects))
Path("by-openapi.ts").write_text('import type { components } from "./openapi";\ntype Shop = components["schemas"]["Shop"];\n' + uses)
Path("by-schema.ts").write_text('import type { Shop } from "./schema";\n' + uses)
WRITE
env/bin/datamodel-codegen --input openapi.json --input-file-type openapi --output-model-type pydantic_v2.BaseModel \
  --formatters builtin --output models.py
npx --no-install openapi-typescript openapi.json -o openapi.ts > /dev/null 2>&1
npx --no-install json2ts schema.json > schema.ts
cat > read.py <<'READ'
import json
from pathlib import Path

from models import Shop

for shop in json.loads(Path("objects.json").read_text()):
    try:
        kept = Shop.model_validate(shop).model_dump(mode="json", exclude_unset=True)
        print(f"  {json.dumps(shop)}: {'taken' if kept == shop else 'becomes ' + json.dumps(kept)}")
    except ValueError:
        print(f"  {json.dumps(shop)}: refused")
READ
# by_types FILE HEAD: the objects that TypeScript's compiler refuses, below the lines of the head.
by_types() {
  npx --no-install tsc --noEmit --strict "$1" > said || true
  env/bin/python - "$1" "$2" <<'TELL'
import json
import sys
from pathlib import Path

refused = {int(line.split("(")[1].split(",")[0]) - int(sys.argv[2]) for line in open("said") if line.startswith(sys.argv[1])}
for place, shop in enumerate(json.loads(Path("objects.json").read_text()), 1):
    print(f"  {json.dumps(shop)}: {'refused' if place in refused else 'taken'}")
TELL
}
{
  echo "datamodel-code-generator:"
  env/bin/python read.py
  echo "openapi-typescript:"
  by_types by-openapi.ts 2
  echo "json-schema-to-typescript:"
  by_types by-schema.ts 1
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
datamodel-code-generator:
  {"manifest": {"apiVersion": "v1", "kind": "ConfigMap"}}: taken
  {"values": {"size": 1, "colour": "red"}}: becomes {"values": {"size": 1}}
  {"port": 8080}: taken
  {"timeout": "5m"}: refused
openapi-typescript:
  {"manifest": {"apiVersion": "v1", "kind": "ConfigMap"}}: refused
  {"values": {"size": 1, "colour": "red"}}: refused
  {"port": 8080}: taken
  {"timeout": "5m"}: taken
json-schema-to-typescript:
  {"manifest": {"apiVersion": "v1", "kind": "ConfigMap"}}: taken
  {"values": {"size": 1, "colour": "red"}}: taken
  {"port": 8080}: refused
  {"timeout": "5m"}: taken
EXPECTED
