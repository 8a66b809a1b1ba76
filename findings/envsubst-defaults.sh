#!/usr/bin/env bash
# Question: which text has `${NAME:-default}` of a manifest after a library of the name envsubst, as in Flux's substitution?
# Versions: envsubst 0.1.5, expandvars 1.1.2 (PyPI), envsub 4.1.0 (npm), gettext-base 0.21 (Debian 12).
# One would guess: that of a shell, as Flux has it, or an error, or the text as it stands, as gettext's own envsubst leaves
#   it.
# What is: the four differ. envsub takes the default for a missing variable, but an empty text for an empty one, and leaves
#   `$NAME` and `${GONE-low}`. envsubst for Python leaves `:=`. Behind a second `$`, which Flux has for a text that stays,
#   three replace the name all the same, and expandvars leaves nothing. gettext replaces within a default that it does not
#   know.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" gettext-base=0.21-12
python3 -m venv env
env/bin/pip install -qq envsubst==0.1.5 expandvars==1.1.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund envsub@4.1.0
export NAME=web EMPTY=
unset GONE
cat > told.py <<'TOLD'
import sys

import envsubst
import expandvars

for name, change in (("envsubst", envsubst.envsubst), ("expandvars", expandvars.expandvars)):
    try:
        print(f"  {name}: {change(sys.argv[1])}")
    except Exception as error:
        print(f"  {name}: {type(error).__name__}")
TOLD
for text in '${NAME}' '$NAME' '${GONE:-low}' '${EMPTY:-low}' '${GONE-low}' '${GONE:-very low}' '${GONE:=low}' '$${NAME}' \
  '${GONE:-${NAME}}' '${NAME:0:1}'; do
  echo "$text:"
  env/bin/python told.py "$text"
  printf '%s\n' "$text" > in
  rm -f out
  node_modules/.bin/envsub in out > said
  echo "  envsub: $(< out)"
  echo "  gettext: $(of "$work/root" bin/envsubst < in)"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
${NAME}:
  envsubst: web
  expandvars: web
  envsub: web
  gettext: web
$NAME:
  envsubst: web
  expandvars: web
  envsub: $NAME
  gettext: web
${GONE:-low}:
  envsubst: low
  expandvars: low
  envsub: low
  gettext: ${GONE:-low}
${EMPTY:-low}:
  envsubst: low
  expandvars: low
  envsub: 
  gettext: ${EMPTY:-low}
${GONE-low}:
  envsubst: low
  expandvars: low
  envsub: ${GONE-low}
  gettext: ${GONE-low}
${GONE:-very low}:
  envsubst: very low
  expandvars: very low
  envsub: very low
  gettext: ${GONE:-very low}
${GONE:=low}:
  envsubst: ${GONE:=low}
  expandvars: low
  envsub: ${GONE:=low}
  gettext: ${GONE:=low}
$${NAME}:
  envsubst: $web
  expandvars: 
  envsub: $web
  gettext: $web
${GONE:-${NAME}}:
  envsubst: ${NAME}
  expandvars: web
  envsub: ${NAME}
  gettext: ${GONE:-web}
${NAME:0:1}:
  envsubst: ${NAME:0:1}
  expandvars: w
  envsub: ${NAME:0:1}
  gettext: ${NAME:0:1}
EXPECTED
