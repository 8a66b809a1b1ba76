#!/usr/bin/env bash
# Question: does a script of health or replicas that is tried in Node do the same as in Lua itself?
# Versions: fengari 0.1.5 with fengari-interop 0.1.4 (npm), Lua 5.3.6 (Debian 12). Both call themselves Lua 5.3.
# One would guess: yes, since fengari is that version of Lua in JavaScript.
# What is: its whole numbers have 32 bits. 3 GiB is a fraction there, which `%d` refuses and `..` writes with `.0`.
#   `os.date` writes the `!` that asks for UTC. In an object of JSON that is handed over, null counts as true, and a list
#   counts from 0, so that `ipairs` leaves the first condition out.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" lua5.3=5.3.6-2
echo '{}' > package.json
npm install --silent --no-audit --no-fund fengari@0.1.5 fengari-interop@0.1.4
export TZ=UTC

cat > script.lua <<'SCRIPT'
local function tell(name, value)
  local fine, answer = pcall(value)
  print(name .. ": " .. (fine and tostring(answer) or "an error, " .. answer:match("%((.+)%)")))
end
tell("version", function() return _VERSION end)
tell("memory", function() return 3221225472 .. " bytes" end)
tell("memory with %d", function() return ("%d bytes"):format(3 * 1024 ^ 3) end)
tell("replicas with %d", function() return ("%d"):format(6 / 2) end)
tell("time", function() return os.date("!%Y-%m-%dT%H:%M:%SZ", 1767225600) end)
if object then
  tell("null is true", function() return object.phase and "yes" or "no" end)
  tell("conditions", function()
    local seen = ""
    for place, kind in ipairs(object.conditions) do seen = seen .. place .. "=" .. kind .. " " end
    return seen:sub(1, -2)
  end)
end
SCRIPT
cat > run.js <<'RUN'
const { lua, lauxlib, lualib, to_luastring } = require("fengari");
const { luaopen_js, push } = require("fengari-interop");
const state = lauxlib.luaL_newstate();
lualib.luaL_openlibs(state);
lauxlib.luaL_requiref(state, to_luastring("js"), luaopen_js, 0);
push(state, JSON.parse('{"phase": null, "conditions": ["Ready", "Synced", "Paused"]}'));
lua.lua_setglobal(state, to_luastring("object"));
if (lauxlib.luaL_dofile(state, to_luastring("script.lua"))) console.log(lua.lua_tojsstring(state, -1));
RUN
{
  echo "in Lua:"
  of "$work/root" bin/lua5.3 script.lua
  echo "in fengari:"
  node run.js
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
in Lua:
version: Lua 5.3
memory: 3221225472 bytes
memory with %d: 3221225472 bytes
replicas with %d: 3
time: 2026-01-01T00:00:00Z
in fengari:
version: Lua 5.3
memory: 3221225472.0 bytes
memory with %d: an error, number has no integer representation
replicas with %d: 3
time: !2026-01-01T00:00:00Z
null is true: yes
conditions: 1=Synced 2=Paused
EXPECTED
