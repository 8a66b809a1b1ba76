#!/usr/bin/env bash
# Question: is the bill of materials of one Python lock the same, whichever tool writes it?
# Versions: cyclonedx-bom 7.5.0, uv 0.13.9, packageurl-python 0.17.6 (PyPI).
# One would guess: yes, as CycloneDX has one URL for a package, and `pkg:pypi/ruamel.yaml` and `ruamel-yaml` are one to pip.
# What is: cyclonedx-bom keeps the dot of a name as it stands in the file, uv writes a dash, and libraries of package URLs
#   hold the two for two packages. Of a package with two versions, one for each platform, both are components; uv notes the
#   marker, cyclonedx-bom repeats the line as a description. Dependencies are told by uv alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq cyclonedx-bom==7.5.0 uv==0.13.9 packageurl-python==0.17.6

cat > pyproject.toml <<'PROJECT'
[project]
name = "app"
version = "1.0.0"
requires-python = ">=3.11"
dependencies = [
  "ruamel.yaml==0.19.1", "python-dateutil==2.9.0.post0",
  "six==1.16.0; sys_platform == 'win32'", "six==1.17.0; sys_platform != 'win32'",
]
PROJECT
env/bin/uv lock -q
# pip freeze and most files of people have the dot.
env/bin/uv export -q --frozen --no-hashes --no-annotate --no-header | sed s/ruamel-yaml/ruamel.yaml/ > requirements.txt
env/bin/uv export -q --frozen --format cyclonedx1.5 > uv.json
env/bin/cyclonedx-py requirements --pyproject pyproject.toml -o cyclonedx-bom.json requirements.txt 2> /dev/null
cat > read.py <<'READ'
import json
from pathlib import Path

from packageurl import PackageURL

urls = {}
for tool in ("cyclonedx-bom", "uv"):
    bill = json.loads(Path(f"{tool}.json").read_text())
    print(f"{tool}:")
    for component in sorted(bill["components"], key=lambda component: component["purl"]):
        markers = [value["value"] for value in component.get("properties", ()) if value["name"].endswith(":marker")]
        print(" ", component["purl"], *(f"where {marker}" for marker in markers))
    urls[tool] = {PackageURL.from_string(component["purl"]) for component in bill["components"]}
    own = {bill["metadata"]["component"]["bom-ref"]}
    told = [edge for edge in bill["dependencies"] if edge["ref"] not in own and edge.get("dependsOn")]
    print(f"  packages that depend on others: {len(told)}")
print("in one of the two only:", *sorted(map(str, urls["uv"] ^ urls["cyclonedx-bom"])))
READ
env/bin/python read.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
cyclonedx-bom:
  pkg:pypi/python-dateutil@2.9.0.post0
  pkg:pypi/ruamel.yaml@0.19.1
  pkg:pypi/six@1.16.0
  pkg:pypi/six@1.17.0
  packages that depend on others: 0
uv:
  pkg:pypi/python-dateutil@2.9.0.post0
  pkg:pypi/ruamel-yaml@0.19.1
  pkg:pypi/six@1.16.0 where sys_platform == 'win32'
  pkg:pypi/six@1.17.0 where sys_platform != 'win32'
  packages that depend on others: 1
in one of the two only: pkg:pypi/ruamel-yaml@0.19.1 pkg:pypi/ruamel.yaml@0.19.1
EXPECTED
