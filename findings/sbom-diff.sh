#!/usr/bin/env bash
# Question: what does sbomdiff say of two bills of materials, between which a package came, went or has another group?
# Versions: sbomdiff 0.6.0 with lib4sbom 0.10.4 (PyPI), on CycloneDX 1.5.
# One would guess: each of the changes: a package URL names a package.
# What is: a package is its name alone to sbomdiff. Where one name stands for two versions, as in a lock for several
#   releases of Python, or for packages of two ecosystems or groups, it compares one of them. It says "no change", and exits
#   0, when the other one goes, comes or is of another group.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq sbomdiff==0.6.0 lib4sbom==0.10.4
cat > write.py <<'WRITE'
import json
import sys
from pathlib import Path

path, *urls = sys.argv[1:]
components = []
for url in urls:
    kind, _, rest = url.removeprefix("pkg:").partition("/")
    whole, _, version = rest.rpartition("@")
    group, _, name = whole.rpartition("/")
    components.append({"type": "library", "name": name, "version": version, "purl": url, "bom-ref": url})
    if group:
        components[-1]["group"] = group.replace("%40", "@")
whole = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
Path(path).write_text(json.dumps(whole))
WRITE
# told TITLE BEFORE -- AFTER: package URLs before and after the change.
told() {
  local title=$1 before=() code=0
  shift
  while [[ $1 != -- ]]; do before+=("$1"); shift; done
  shift
  python3 write.py before.json "${before[@]}"
  python3 write.py after.json "$@"
  env/bin/sbomdiff before.json after.json > said || code=$?
  echo "$title: $(grep -E '^\[' said || echo "no change"), exit code $code"
}
other=pkg:pypi/yaml@1.0
{
  told "one version for another" pkg:pypi/numpy@1.0 "$other" -- pkg:pypi/numpy@1.1 "$other"
  told "one of two versions goes" pkg:pypi/numpy@1.0 pkg:pypi/numpy@2.0 -- pkg:pypi/numpy@1.0
  told "a second version comes" pkg:pypi/numpy@1.0 -- pkg:pypi/numpy@1.0 pkg:pypi/numpy@2.0
  told "a package of npm joins its namesake" pkg:pypi/yaml@1.0 -- pkg:pypi/yaml@1.0 pkg:npm/yaml@2.0
  told "another group" pkg:npm/%40babel/parser@7.1 "$other" -- pkg:npm/%40other/parser@7.1 "$other"
  told "another ecosystem" pkg:pypi/yaml@1.0 -- pkg:npm/yaml@1.0
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
one version for another: [VERSION] numpy: Version changed from 1.0 to 1.1, exit code 1
one of two versions goes: no change, exit code 0
a second version comes: no change, exit code 0
a package of npm joins its namesake: no change, exit code 0
another group: no change, exit code 0
another ecosystem: no change, exit code 0
EXPECTED
