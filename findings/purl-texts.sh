#!/usr/bin/env bash
# Question: is a package URL, by which bills of materials name images and charts, one text in all libraries?
# Versions: packageurl-python 0.17.6 (PyPI), packageurl-js 2.0.1 (npm).
# One would guess: yes; the specification has one canonical form, for texts to be compared.
# What is: of an image and of a version with build metadata, as k3s has, they write two texts each. Python escapes the `+`
#   of a version and leaves `:` and `/` of a qualifier, Node does the opposite. Read back, the parts are the same.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq packageurl-python==0.17.6
echo '{}' > package.json
npm install --silent --no-audit --no-fund packageurl-js@2.0.1

cat > parts.json <<'PARTS'
[["oci", "shop", "sha256:0af7", {"repository_url": "registry.example:5000/shop", "tag": "v1"}],
 ["generic", "k3s", "v1.31.2+k3s1", {}],
 ["deb", "kubectl", "1:1.20~rc1-2", {}],
 ["helm", "prometheus", "27.1.0", {"repository_url": "https://charts.example/stable"}]]
PARTS
cat > write.py <<'WRITE'
import json
from pathlib import Path

from packageurl import PackageURL

for kind, name, version, qualifiers in json.loads(Path("parts.json").read_text()):
    print(PackageURL(kind, None, name, version, qualifiers).to_string())
WRITE
cat > write.js <<'WRITE'
const { PackageURL } = require("packageurl-js");
for (const [kind, name, version, qualifiers] of require("./parts.json"))
  console.log(new PackageURL(kind, undefined, name, version, qualifiers).toString());
WRITE
cat > same.py <<'SAME'
import sys
from pathlib import Path

from packageurl import PackageURL

for text, other in zip(*(Path(name).read_text().splitlines() for name in sys.argv[1:]), strict=True):
    parts = "the same parts" if PackageURL.from_string(text) == PackageURL.from_string(other) else "other parts"
    print(f"Python {text}\nNode   {other}\n  {'one text' if text == other else 'two texts'}, {parts}")
SAME
env/bin/python write.py > of_python
node write.js > of_node
env/bin/python same.py of_python of_node | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Python pkg:oci/shop@sha256:0af7?repository_url=registry.example:5000/shop&tag=v1
Node   pkg:oci/shop@sha256:0af7?repository_url=registry.example%3A5000%2Fshop&tag=v1
  two texts, the same parts
Python pkg:generic/k3s@v1.31.2%2Bk3s1
Node   pkg:generic/k3s@v1.31.2+k3s1
  two texts, the same parts
Python pkg:deb/kubectl@1:1.20~rc1-2
Node   pkg:deb/kubectl@1:1.20~rc1-2
  one text, the same parts
Python pkg:helm/prometheus@27.1.0?repository_url=https://charts.example/stable
Node   pkg:helm/prometheus@27.1.0?repository_url=https%3A%2F%2Fcharts.example%2Fstable
  two texts, the same parts
EXPECTED
