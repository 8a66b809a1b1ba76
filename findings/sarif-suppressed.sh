#!/usr/bin/env bash
# Question: a linter of manifests writes SARIF with checks that passed, and a result that is suppressed in the file; what do
#   readers count, and what fails a pipeline?
# Versions: sarif-tools 3.0.5 (PyPI), sarif-junit 1.1.4 (npm).
# One would guess: what SARIF says: a result with `suppressions` is not shown, one of kind `pass` is no problem, and one whose
#   `baselineState` is `absent` is gone.
# What is: to both a result that is suppressed, or gone, is as any other: `--check warning` of sarif-tools fails for it, and
#   sarif-junit makes a failure of it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq sarif-tools==3.0.5
echo '{}' > package.json
npm install --silent --no-audit --no-fund sarif-junit@1.1.4
cat > write.py <<'PYTHON'
import json
import sys

place = {"physicalLocation": {"artifactLocation": {"uri": "policy.yaml"}, "region": {"startLine": 1}}}
more = {
    "plain": {"level": "warning"},
    "suppressed": {"level": "warning", "suppressions": [{"kind": "inSource"}]},
    "absent": {"level": "warning", "baselineState": "absent"},
    "passed": {"kind": "pass", "level": "none"},
}[sys.argv[1]]
result = {"ruleId": "replicas", "message": {"text": "words"}, "locations": [place], **more}
run = {"tool": {"driver": {"name": "lint", "rules": [{"id": "replicas"}]}}, "results": [result]}
print(json.dumps({"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run]}))
PYTHON
for state in plain suppressed absent passed; do
  env/bin/python write.py $state > lint.sarif
  env/bin/sarif --check warning summary lint.sarif > summary 2>&1 && code=0 || code=$?
  counted=$(sed -n 's/^\([a-z]*\): \([1-9]\)$/\2 \1/p' summary)
  npx sarif-junit -i lint.sarif -o junit.xml > log 2>&1
  failures=$(grep -c '<failure' junit.xml || true)
  echo "$state: sarif-tools counts $counted, exit code $code; sarif-junit has $failures failure"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
plain: sarif-tools counts 1 warning, exit code 1; sarif-junit has 1 failure
suppressed: sarif-tools counts 1 warning, exit code 1; sarif-junit has 1 failure
absent: sarif-tools counts 1 warning, exit code 1; sarif-junit has 1 failure
passed: sarif-tools counts 1 none, exit code 0; sarif-junit has 0 failure
EXPECTED
