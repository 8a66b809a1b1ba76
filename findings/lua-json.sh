#!/usr/bin/env bash
# Question: a script in Lua reads an object from JSON and writes it back unchanged; is it the same object?
# Versions: lua-cjson 2.1.0, lua-dkjson 2.6, lua-json 1.3.4 with lua5.1 5.1.5, lua5.4 5.4.4 (Debian 12).
# One would guess: yes; Lua 5.4 has integers of 64 bits, and these numbers fit into a double, too.
# What is: lua-cjson writes fourteen digits, in Lua 5.4 as in 5.1: 1735689600123456 microseconds become 1.7356896001235e+15,
#   and 100 TB of memory `1e+14`. lua-json and dkjson do so in Lua 5.1 alone. lua-cjson makes an object of an empty list,
#   and dkjson leaves a null out, which a merge patch needs.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" lua-cjson=2.1.0+dfsg-2.2 lua-dkjson=2.6-2 lua-json=1.3.4-2 lua5.1=5.1.5-9 lua5.4=5.4.4-3+deb12u1
cat > again.lua <<'AGAIN'
local library = require(arg[1])
local texts = { '{"a":[]}', '{"a":{}}', '{"a":null}', '{"a":3}', '{"a":1735689600123456}', '{"a":100000000000000}' }
for _, text in ipairs(texts) do
  local value = library.decode(text)
  local written = library.encode(value)
  if written ~= text then print("  " .. text .. " becomes " .. written) end
end
AGAIN
for lua in 5.1 5.4; do
  for library in cjson dkjson json; do
    [[ $lua$library != 5.4json ]] || continue
    echo "$library in Lua $lua:"
    LUA_PATH="$work/root/usr/share/lua/$lua/?.lua" LUA_CPATH="$work/root/usr/lib/x86_64-linux-gnu/lua/$lua/?.so" \
      of "$work/root" "bin/lua$lua" again.lua "$library"
  done
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
cjson in Lua 5.1:
  {"a":[]} becomes {"a":{}}
  {"a":1735689600123456} becomes {"a":1.7356896001235e+15}
  {"a":100000000000000} becomes {"a":1e+14}
dkjson in Lua 5.1:
  {"a":null} becomes {}
  {"a":1735689600123456} becomes {"a":1.7356896001235e+15}
  {"a":100000000000000} becomes {"a":1e+14}
json in Lua 5.1:
  {"a":1735689600123456} becomes {"a":1.7356896001235e+15}
  {"a":100000000000000} becomes {"a":1e+14}
cjson in Lua 5.4:
  {"a":[]} becomes {"a":{}}
  {"a":1735689600123456} becomes {"a":1.7356896001235e+15}
  {"a":100000000000000} becomes {"a":1e+14}
dkjson in Lua 5.4:
  {"a":null} becomes {}
EXPECTED
