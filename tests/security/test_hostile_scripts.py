"""Scripts of people who may write ResourceInterpreterCustomizations, or objects that scripts read, and want more.

They have: any text of Lua, and any object of the kind. They must not get: time or memory of others, a file, a
connection, a process, anything of the interpreter's host, or an answer that counts as healthy without being one.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from kubeapi.loop.supervisor import Supervisor
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.scripts import health_in
from leeward.lua.answers import RememberedAnswers
from leeward.lua.jail import LocalJail, ProcessJail
from leeward.lua.sandbox import Sandbox
from tests.variants import mostly_long

GOOD = "function InterpretHealth(o) return o.spec.fine end"
FINE = {"spec": {"fine": True}}
Call = Callable[[str], Awaitable[list[Any]]]

ENDLESS = {
    "a loop": "while true do end",
    "a loop that catches": "while true do pcall(function() while true do end end) end",
    "a loop in a handler": "xpcall(function() error(1) end, function() while true do end end)",
    "a loop of calls": "local function f() return f() end f()",
    "a pattern that backtracks": (
        "local s = 'a' for i = 1, 13 do s = s .. s end string.find(s, string.format('%s', '.-.-.-.-.-.-.-b'))"
    ),
    "a sort that never agrees": "local t = {} for i = 1, 3e6 do t[i] = i end while true do table.sort(t) end",
}
QUICK = ENDLESS["a loop"], ENDLESS["a pattern that backtracks"]
GREEDY = {
    "a text that doubles": "local s = 'x' while true do s = s .. s end",
    "a table that grows": "local t = {} while true do t[#t + 1] = {} end",
    "a catch that goes on": "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end",
    "a deep recursion": "local function f(n) return 1 + f(n + 1) end f(0)",
    "a result that is too large": "local t = {} for i = 1, 2e6 do t[i] = i end return t",
}
REACHING = {
    "files": "return io.open('/etc/passwd')",
    "commands": "return os.execute('true')",
    "the environment": "return os.getenv('HOME')",
    "modules": "return require('os').remove('x')",
    "code": "return load('return 1')",
    "bytecode": "return loadstring(string.dump(function() end))",
    "the host": "return python.eval('1')",
    "the host by another way": "return require('python')",
    "the debugger": "return debug.getregistry()",
    "metatables": "return getmetatable('').__index",
    "other environments": "return getfenv(0)",
    "a metatable of its own": "return setmetatable({}, {__index = function() return true end})",
    "the collector": "collectgarbage('stop')",
    "coroutines": "return coroutine.create(print)",
    "a text of any length": "return string.rep('x', 1e9)",
}
NOT_HEALTHY = {
    "a text": "return 'true'",
    "a number": "return 1",
    "nothing": "return nil",
    "a table": "return {}",
    "not a number": "return 0/0",
    "a cycle": "local t = {} t[1] = t return t",
    "a function": "return print",
}


def script(body: str) -> str:
    return f"function InterpretHealth(o) {body} end"


def in_jail(work: Callable[[ProcessJail], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with Supervisor("jail") as supervisor:
            await work(ProcessJail(supervisor))

    asyncio.run(run())


@pytest.mark.parametrize("body", mostly_long(ENDLESS.values(), *QUICK), ids=ENDLESS)
def test_what_does_not_end_is_ended_and_others_are_answered(body: str) -> None:
    async def work(jail: ProcessJail) -> None:
        bad = asyncio.ensure_future(jail.call(script(body), "InterpretHealth", [FINE], 0))
        behind = [asyncio.ensure_future(jail.call(GOOD, "InterpretHealth", [FINE], 0)) for _ in range(3)]
        with pytest.raises(InterpretationError, match="stopped"):
            await bad
        assert await asyncio.gather(*behind) == [[True]] * 3

    in_jail(work)


@pytest.mark.parametrize("body", GREEDY.values(), ids=GREEDY)
def test_memory_is_bounded(body: str) -> None:
    async def work(jail: ProcessJail) -> None:
        with pytest.raises(InterpretationError):
            await jail.call(script(body), "InterpretHealth", [FINE], 0)
        assert await jail.call(GOOD, "InterpretHealth", [FINE], 0) == [True]

    in_jail(work)


@pytest.mark.parametrize("body", REACHING.values(), ids=REACHING)
def test_nothing_outside_can_be_reached(body: str) -> None:
    with pytest.raises(InterpretationError):
        Sandbox().call(script(body), "InterpretHealth", [FINE], 0)


@pytest.mark.parametrize("body", NOT_HEALTHY.values(), ids=NOT_HEALTHY)
def test_only_true_is_healthy(body: str) -> None:
    async def answer() -> list[Any]:
        return await LocalJail().call(script(body), "InterpretHealth", [FINE], 0)

    with pytest.raises(InterpretationError):
        health_in(asyncio.run(answer()))


def test_an_error_of_the_host_is_told_as_a_text() -> None:
    body = "local fine, why = pcall(require('kube').resourceAdd, {}) return not fine and type(why) == 'string'"
    assert Sandbox().call(script(body), "InterpretHealth", [FINE], 0) == b"[true]"


def test_a_script_leaves_nothing_to_the_next_one() -> None:
    sandbox = Sandbox()
    spoil = "string.find, pairs, math.huge, kept = nil, nil, 5, o string.upper = error table.insert = nil _G.next = nil"
    sandbox.call(script(spoil), "InterpretHealth", [FINE], 0)
    look = "return kept == nil and ('a'):upper() == 'A' and string.find('ab', 'b') == 2 and next({}) == nil"
    assert sandbox.call(script(look), "InterpretHealth", [FINE], 0) == b"[true]"


@pytest.mark.long
def test_a_script_that_had_to_be_stopped_delays_only_its_like() -> None:
    async def work(jail: ProcessJail) -> None:
        endless = script(ENDLESS["a loop"])
        with pytest.raises(InterpretationError):
            await jail.call(endless, "InterpretHealth", [FINE], 0)
        bad = asyncio.ensure_future(jail.call(endless, "InterpretHealth", [FINE], 0))
        await asyncio.sleep(0)
        assert await jail.call(GOOD, "InterpretHealth", [FINE], 0) == [True]
        assert not bad.done()
        with pytest.raises(InterpretationError):
            await bad

    in_jail(work)


def test_a_failure_is_not_paid_for_again_and_again() -> None:
    class Counted(LocalJail):
        calls = 0

        async def call(self, script: str, function: str, arguments: Any, now: int) -> list[Any]:
            self.calls += 1
            raise InterpretationError("stopped")

    async def run() -> int:
        jail = Counted()
        answers = RememberedAnswers(jail)
        for now in (0, 1, 59, 60):
            with pytest.raises(InterpretationError):
                await answers.call(GOOD, "InterpretHealth", [FINE], now)
        return jail.calls

    assert asyncio.run(run()) == 2


def test_the_process_has_no_right_to_open_anything() -> None:
    """Asked of the process itself: what a script that got out of Lua would find."""
    program = (
        "from leeward.lua import worker; from leeward.lua.sandbox import Sandbox; s = Sandbox(); worker._warm_up(s);"
        "worker._give_up_rights()\n"
        "for reach in (lambda: open('/etc/passwd'), lambda: __import__('socket').socket()):\n"
        "    try: reach(); print('reached')\n"
        "    except OSError as error: print(error.errno)\n"
    )

    async def run() -> bytes:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return out

    assert asyncio.run(run()).split() == [b"24", b"24"]
