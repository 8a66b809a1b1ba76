#!/usr/bin/env bash
# Question: `yaml-set` of yamlpath changes the name of an object, which is one letter; does the rest of the file stay?
# Versions: yamlpath 3.9.1, ruamel.yaml 0.19.1 (PyPI).
# One would guess: yes: one value is named, and no anchor joins it to another.
# What is: each key of the same letter gets the new text, too, anywhere in the file. Where a key of that text is there already,
#   its value is lost. Values of the letter stay, and so does all with names of two letters: Python keeps texts of one
#   character once.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq yamlpath==3.9.1 ruamel.yaml==0.19.1
for name in x xx; do
  cat > object.yaml <<OBJECT
---
kind: Point
metadata:
  name: $name
spec:
  $name: first
  y: second
  axis: $name
OBJECT
  cp object.yaml before.yaml
  env/bin/yaml-set --change=metadata.name --value=y object.yaml
  echo "$name:"
  diff before.yaml object.yaml || true
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
x:
4c4
<   name: x
---
>   name: y
6,7c6
<   x: first
<   y: second
---
>   y: first
xx:
4c4
<   name: xx
---
>   name: y
EXPECTED
