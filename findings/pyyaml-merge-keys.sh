#!/usr/bin/env bash
# Question: a manifest merges two objects by `<<: [*first, *second]`, or one that merges another; which value has a key of
#   both?
# Versions: PyYAML 6.0.3 and 6.0.4, ruamel.yaml 0.19.1 (PyPI).
# One would guess: that of the first, and that of the object that merges: YAML says so, and a patch release changes neither.
# What is: in 6.0.4 the second wins in a list. For keys of one letter, such as `n` or `1`, all is otherwise: the first wins
#   in a list, and an object has the value of what it merges instead of its own. 6.0.3 and ruamel.yaml do as YAML says.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for version in 6.0.3 6.0.4; do
  python3 -m venv "$version"
  "$version/bin/pip" install -qq "pyyaml==$version"
done
6.0.4/bin/pip install -qq ruamel.yaml==0.19.1
cat > merged.py <<'MERGED'
import sys

ruamel = "ruamel" in sys.argv
if ruamel:
    from ruamel.yaml import YAML

    load = YAML(typ="safe").load
else:
    from yaml import safe_load as load

for key in ("name", "n", "1"):
    listed = load(f"a: &a {{{key}: first}}\nb: &b {{{key}: second}}\nc: {{<<: [*a, *b]}}")["c"]
    nested = load(f"a: &a {{{key}: other}}\nb: &b {{<<: *a, {key}: own}}\nc: {{<<: *b}}")["c"]
    print(f"  {key}: {[*listed.values()]} of a list, {[*nested.values()]} of an object that merges another")
MERGED
{
  for version in 6.0.3 6.0.4; do
    echo "PyYAML $version:"
    "$version/bin/python" merged.py
  done
  echo "ruamel.yaml:"
  6.0.4/bin/python merged.py ruamel
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
PyYAML 6.0.3:
  name: ['first'] of a list, ['own'] of an object that merges another
  n: ['first'] of a list, ['own'] of an object that merges another
  1: ['first'] of a list, ['own'] of an object that merges another
PyYAML 6.0.4:
  name: ['second'] of a list, ['own'] of an object that merges another
  n: ['first'] of a list, ['other'] of an object that merges another
  1: ['first'] of a list, ['other'] of an object that merges another
ruamel.yaml:
  name: ['first'] of a list, ['own'] of an object that merges another
  n: ['first'] of a list, ['own'] of an object that merges another
  1: ['first'] of a list, ['own'] of an object that merges another
EXPECTED
