#!/usr/bin/env bash
# Question: kubernetes-split-yaml writes each object of a file, as helm prints it, to a file of its own; is each there?
# Versions: kubernetes-split-yaml 0.3.0 (Debian 12).
# One would guess: yes, or an error: the names of the files are of its own making.
# What is: a name has the kind and the name alone. Of one name in two namespaces, and of two groups that have one kind, the
#   last one is left, and it ends as after a success. A template `tpl_ns` keeps the namespaces apart, and not the groups.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" kubernetes-split-yaml=0.3.0-1+b7
object() { printf -- '---\napiVersion: %s\nkind: %s\nmetadata:\n  name: a\n  namespace: %s\n' "$@"; }
{
  object apps/v1 Deployment prod
  object apps/v1 Deployment test
  object cluster.karmada.io/v1alpha1 Cluster prod
  object cluster.x-k8s.io/v1beta1 Cluster prod
} > all.yaml
for template in tpl_flat tpl_ns; do
  mkdir "$template"
  echo "4 objects by $template:"
  root/usr/bin/kubernetes-split-yaml --outdir "$template" --template_sel "$template" all.yaml 2> log || echo "  it ends with $?"
  find "$template" -type f | sort | while read -r file; do
    echo "  ${file#*/}: $(sed -n 's/^apiVersion: //p' "$file") in $(sed -n 's/^  namespace: //p' "$file")"
  done
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
4 objects by tpl_flat:
  a-cluster.yaml: cluster.x-k8s.io/v1beta1 in prod
  a-deployment.yaml: apps/v1 in test
4 objects by tpl_ns:
  prod/a.Cluster.yaml: cluster.x-k8s.io/v1beta1 in prod
  prod/a.Deployment.yaml: apps/v1 in prod
  test/a.Deployment.yaml: apps/v1 in test
EXPECTED
