"""Scripts run on Lua 5.2 with the names and answers of 5.1: why no other version does, and all that a script sees.

docs/security.md, "Scripts of Lua", says so.
"""

import json
from typing import Any

import pytest
from lupa import lua51, lua53, lua54

from leeward.core.interpreter.rules import InterpretationError
from leeward.lua.sandbox import Sandbox
from tests.unit.lua.test_lua_values import answer

GOTO = "goto past do return 'no' end ::past:: return 'past'"
REPLICAS = "return tostring(10 / 2)"
NAMES_OF_5_1 = ("unpack", "loadstring", "math.pow", "math.mod", "table.getn", "table.maxn")
LATER_NAMES = ("bit32", "rawlen", "utf8", "table.pack", "table.unpack", "string.pack", "math.type", "math.tointeger")
LATER_OPERATORS = ("return 7 // 2", "return 1 << 2", "return 6 & 3", "return 6 | 1", "return ~1")
SEEN = """
_G _VERSION assert error ipairs next pairs pcall print rawequal rawget rawset require select tonumber tostring type
unpack xpcall
math.abs math.acos math.asin math.atan math.atan2 math.ceil math.cos math.cosh math.deg math.exp math.floor math.fmod
math.frexp math.huge math.ldexp math.log math.max math.min math.mod math.modf math.pi math.pow math.rad math.random
math.randomseed math.sin math.sinh math.sqrt math.tan math.tanh
os.date os.time
string.byte string.char string.find string.format string.gmatch string.gsub string.len string.lower string.match
string.rep string.reverse string.sub string.upper
table.concat table.getn table.insert table.maxn table.remove table.sort
"""
REFUSED = """
collectgarbage dofile getfenv getmetatable load loadfile loadstring module newproxy setfenv setmetatable string.dump
"""
NAMED = """
local found = {}
for name, value in pairs(_G) do
  if type(value) == 'table' and value ~= _G then
    for inner in pairs(value) do found[#found + 1] = name .. '.' .. inner end
  else
    found[#found + 1] = name
  end
end
return found
"""


@pytest.mark.parametrize("module", [lua53, lua54])
def test_a_number_of_replicas_would_be_another_text_on_a_later_lua(module: Any) -> None:
    assert module.LuaRuntime().execute(REPLICAS) == "5.0"
    assert answer(Sandbox(10_000), REPLICAS) == ["string", "5"]


def test_lua_5_1_itself_has_no_goto_which_scripts_of_karmada_may_use() -> None:
    module: Any = lua51
    with pytest.raises(module.LuaError):
        module.LuaRuntime().execute(GOTO)
    assert answer(Sandbox(10_000), GOTO) == ["string", "past"]


@pytest.mark.parametrize(
    ("names", "kind"), [(NAMES_OF_5_1, "function"), (LATER_NAMES, "nil")], ids=["of 5.1", "of later versions"]
)
def test_scripts_see_the_names_of_5_1_and_of_no_later_version(names: tuple[str, ...], kind: str) -> None:
    sandbox = Sandbox(10_000)
    assert {name: answer(sandbox, f"return type({name})")[1] for name in names} == dict.fromkeys(names, kind)
    assert answer(sandbox, "return _VERSION") == ["string", "Lua 5.1"]


@pytest.mark.parametrize("body", LATER_OPERATORS)
def test_operators_of_later_versions_are_no_text_of_a_script(body: str) -> None:
    assert Sandbox(10_000).check(f"function F() {body} end") is not None
    assert answer(Sandbox(10_000), body) == ["error"]


def test_a_script_sees_these_names_and_no_others() -> None:
    sandbox = Sandbox(100_000)
    (found,) = json.loads(sandbox.call(f"function F() {NAMED} end", "F", [], 0))
    assert {*found} == {"F", *SEEN.split(), *REFUSED.split()}
    for name in REFUSED.split():
        with pytest.raises(InterpretationError, match="is not allowed in a script"):
            sandbox.call(f"function F() return {name}('') end", "F", [], 0)
