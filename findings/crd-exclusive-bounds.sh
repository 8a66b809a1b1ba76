#!/usr/bin/env bash
# Question: a definition (CRD) says `minimum: 5` with `exclusiveMinimum: true`, and `nullable: true`, as Kubernetes' schemas
#   do. What do validators of JSON Schema make of it?
# Versions: jsonschema 4.26.0, fastjsonschema 2.22.3, jsonschema-rs 0.61.2, openapi-schema-validator 0.9.0 (PyPI), ajv 8.20.0
#   (npm).
# One would guess: they refuse the schema, or take it for what it says; 6 fits, and 5 does not.
# What is: three refuse the schema. A validator class of jsonschema takes it, and compares with `true` as with the number 1:
#   5 fits. fastjsonschema compiles the same. Both refuse null. openapi-schema-validator reads it as Kubernetes does.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jsonschema==4.26.0 fastjsonschema==2.22.3 jsonschema-rs==0.61.2 openapi-schema-validator==0.9.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund ajv@8.20.0

echo '{"type": "integer", "minimum": 5, "exclusiveMinimum": true, "nullable": true}' > schema.json
cat > check.py <<'CHECK'
import json
from pathlib import Path

import fastjsonschema
import jsonschema
import jsonschema_rs
from openapi_schema_validator import OAS30Validator

SCHEMA = json.loads(Path("schema.json").read_text())
READERS = {
    "jsonschema.validate": (lambda value: jsonschema.validate(value, SCHEMA), jsonschema.ValidationError),
    "Draft202012Validator": (jsonschema.Draft202012Validator(SCHEMA).validate, jsonschema.ValidationError),
    "fastjsonschema": (lambda value: fastjsonschema.compile(SCHEMA)(value), fastjsonschema.JsonSchemaValueException),
    "openapi-schema-validator": (OAS30Validator(SCHEMA).validate, jsonschema.ValidationError),
}


def judged(check, refusal, value):
    try:
        check(value)
    except refusal:
        return f"{json.dumps(value)} is refused"
    except Exception:
        return "the schema is refused"
    return f"{json.dumps(value)} fits"


for reader, (check, refusal) in READERS.items():
    print(f"{reader}:", ", ".join(dict.fromkeys(judged(check, refusal, value) for value in (4, 5, 6, None))))
try:
    jsonschema_rs.validator_for(SCHEMA)
except Exception:
    print("jsonschema-rs: the schema is refused")
CHECK
cat > check.js <<'CHECK'
const schema = JSON.parse(require("fs").readFileSync("schema.json"));
try {
  const check = new (require("ajv"))({ strict: false }).compile(schema);
  console.log("ajv:", [4, 5, 6, null].map((value) => `${value} ${check(value) ? "fits" : "is refused"}`).join(", "));
} catch {
  console.log("ajv: the schema is refused");
}
CHECK
{ env/bin/python check.py && node check.js; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
jsonschema.validate: the schema is refused
Draft202012Validator: 4 is refused, 5 fits, 6 fits, null is refused
fastjsonschema: 4 is refused, 5 fits, 6 fits, null is refused
openapi-schema-validator: 4 is refused, 5 is refused, 6 fits, null fits
jsonschema-rs: the schema is refused
ajv: the schema is refused
EXPECTED
