#!/usr/bin/env bash
# Question: a script of health reads a time or a number with `string.match`, and goes on with the texts that it found. What
#   do readers of Lua make of such texts?
# Versions: golang-github-yuin-gopher-lua-dev 0.0~git20170915.0.eb1c729 with golang-1.19 1.19.8, Lua 5.1.5 and 5.4.4,
#   LuaJIT 2.1.0~beta3 (Debian 12), fengari 0.1.5 (npm).
# One would guess: all make decimal numbers of them, as the manual of Lua says.
# What is: so do all but the gopher-lua of Debian, where `os.time` takes texts for missing fields and answers a time before
#   our era. A text that begins with 0 is octal where it is counted with, and decimal in `tonumber`; `1e3` is no number.
#   None of it is an error.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2 \
  golang-github-yuin-gopher-lua-dev=0.0~git20170915.0.eb1c729-5 lua5.1=5.1.5-9 lua5.4=5.4.4-3+deb12u1 \
  luajit=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1
echo '{}' > package.json
npm install --silent --no-audit --no-fund fengari@0.1.5
export TZ=UTC

cat > script.lua <<'SCRIPT'
local year, month, day = ("2026-01-10T08:09:00Z"):match("^(%d+)-(%d+)-(%d+)T")
local millis = ("08:09:00.010Z"):match("%.(%d+)Z")
local burst = ("burst=1e3"):match("=(.+)")
print("  time " .. ("%d"):format(os.time({year = year, month = month, day = day, hour = 0})))
print("  010 as a number " .. ("%d"):format(tonumber(millis)) .. ", with 0 added " .. ("%d"):format(millis + 0))
print("  1e3 " .. (tonumber(burst) and ("%d"):format(tonumber(burst)) or "is no number"))
SCRIPT
cat > main.go <<'MAIN'
package main

import lua "github.com/yuin/gopher-lua"

func main() {
	if err := lua.NewState().DoFile("script.lua"); err != nil {
		panic(err)
	}
}
MAIN
cat > run.js <<'RUN'
const { lua, lauxlib, lualib, to_luastring } = require("fengari");
const state = lauxlib.luaL_newstate();
lualib.luaL_openlibs(state);
if (lauxlib.luaL_dofile(state, to_luastring("script.lua"))) console.log(lua.lua_tojsstring(state, -1));
RUN
GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/root/usr/share/gocode GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 \
  GOFLAGS= HOME=$work root/usr/lib/go-1.19/bin/go build -o gopher-lua main.go
{
  for program in lua5.1 lua5.4 luajit; do
    echo "$program"
    of "$work/root" "bin/$program" script.lua
  done
  echo "fengari"
  node run.js
  echo "gopher-lua"
  ./gopher-lua
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
lua5.1
  time 1768003200
  010 as a number 10, with 0 added 10
  1e3 1000
lua5.4
  time 1768003200
  010 as a number 10, with 0 added 10
  1e3 1000
luajit
  time 1768003200
  010 as a number 10, with 0 added 10
  1e3 1000
fengari
  time 1768003200
  010 as a number 10, with 0 added 10
  1e3 1000
gopher-lua
  time -62204198400
  010 as a number 10, with 0 added 8
  1e3 is no number
EXPECTED
