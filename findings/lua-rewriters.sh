#!/usr/bin/env bash
# Question: a script of health or replicas is made shorter, or formatted, by a library before it is put into a customization;
#   does it do as before?
# Versions: Lua 5.4.4 (Debian 12), luaparser 4.2.0 (PyPI), luamin 1.0.4, lua-format 1.5.2 (npm).
# One would guess: yes, or the library refuses it.
# What is: luamin takes the parentheses off `(name:gsub(...))` at the end of a list, which keep the first of two values, so
#   that one value more is returned. luaparser writes `- -n` as `--n`, the beginning of a comment. lua-format takes no `//` and
#   no operators on bits of Lua 5.3, luamin no `<const>` of 5.4.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" lua5.4=5.4.4-3+deb12u1
python3 -m venv env
env/bin/pip install -qq luaparser==4.2.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund luamin@1.0.4 lua-format@1.5.2
cat > by_luaparser.py <<'PYTHON'
from luaparser import ast

print(ast.to_lua_source(ast.parse(open("script.lua").read())))
PYTHON
cat > luamin.cjs <<'NODE'
console.log(require("luamin").minify(require("fs").readFileSync("script.lua", "utf8")));
NODE
cat > lua-format.cjs <<'NODE'
const script = require("fs").readFileSync("script.lua", "utf8");
console.log(require("lua-format").Beautify(script, { RenameVariables: false }));
NODE
run() { of root bin/lua5.4 "$1" 2> log || echo "an error"; }
while IFS= read -r script; do
  echo "$script" > script.lua
  echo "$script"
  echo "  as it stands: $(run script.lua)"
  for library in by_luaparser.py luamin.cjs lua-format.cjs; do
    case $library in *.py) with=env/bin/python ;; *) with=node ;; esac
    if $with $library > new.lua 2> log; then said=$(run new.lua); else said=refused; fi
    library=${library#by_}
    echo "  by ${library%.*}: $said"
  done
done <<'SCRIPTS' | tee seen
local function short(name) return "Healthy", (name:gsub("-.*", "")) end print(short("shop-1"))
local n = 2 print(1 - (2 - 3), - -n)
local replicas = 7 print(replicas // 2, replicas & 1)
local limit <const> = 5 print(limit)
SCRIPTS
diff -u - seen <<'EXPECTED' && echo "as told"
local function short(name) return "Healthy", (name:gsub("-.*", "")) end print(short("shop-1"))
  as it stands: Healthy	shop
  by luaparser: Healthy	shop
  by luamin: Healthy	shop	1
  by lua-format: Healthy	shop
local n = 2 print(1 - (2 - 3), - -n)
  as it stands: 2	2
  by luaparser: an error
  by luamin: 2	2
  by lua-format: 2	2
local replicas = 7 print(replicas // 2, replicas & 1)
  as it stands: 3	1
  by luaparser: 3	1
  by luamin: 3	1
  by lua-format: refused
local limit <const> = 5 print(limit)
  as it stands: 5
  by luaparser: 5
  by luamin: refused
  by lua-format: 5
EXPECTED
