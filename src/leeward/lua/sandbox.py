"""One interpreter of Lua in which a script can reach nothing, and calls into it.

Values go in as tables and come out as JSON, which `prelude.lua` writes. No object of Python is ever visible to a
script: functions of the host are called by functions of the prelude alone, and what they raise is told, not passed on.
"""

from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from lupa.lua52 import LuaError, LuaRuntime

from kubeapi import codec
from leeward.core.interpreter import InterpretationError
from leeward.core.interpreter.thirdparty.pod_templates import without_nulls
from leeward.lua.kube_library import LIBRARY

MEMORY_BYTES = 96 * 1024 * 1024
"""Most bytes of all that one interpreter holds."""
LONGEST_MESSAGE = 500


class Sandbox:
    """`instructions` ends a call that executes more; None leaves that to whoever watches the process."""

    def __init__(self, instructions: int | None = None) -> None:
        self._instructions = instructions
        self._start()

    def _start(self) -> None:
        start: Any = LuaRuntime
        self._lua: Any = start(
            encoding="utf-8",
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=_deny,
            max_memory=MEMORY_BYTES,
        )
        host = (self._kube, _fold_case, _utc_seconds, self._instructions)
        self._prelude: Any = self._lua.execute(_prelude(), *host)
        self._lua.globals()["python"] = None

    def call(self, script: str, function: str, arguments: Sequence[Any], now: int) -> bytes:
        """The results as a JSON list. `now` is the time that the script is told, in seconds.

        The arguments have no nulls: see `without_nulls`, which costs as much as all the rest.

        Raises: InterpretationError with the reason why there are none.
        """
        try:
            tables = [self._table(argument) for argument in arguments]
            fine, answer = self._prelude.run(script, function, now, *tables)
            if not fine:
                raise InterpretationError(str(answer)[:LONGEST_MESSAGE])
            return answer.encode()
        except (LuaError, MemoryError, OverflowError, RecursionError, UnicodeError) as error:
            self._start()
            raise InterpretationError(f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]) from error

    def check(self, script: str) -> str | None:
        """Reason for which the script is no text of Lua; None when it is."""
        try:
            found = self._prelude.check(script)
        except (LuaError, MemoryError, UnicodeError) as error:
            found = str(error)
        return None if found is True else str(found)[:LONGEST_MESSAGE]

    def _table(self, value: Any) -> Any:
        return self._lua.table_from(value, recursive=True) if isinstance(value, dict | list) else value

    def _kube(self, name: str, arguments: str) -> tuple[bool, Any]:
        """Answers a call of the prelude. It never raises, since a script could catch what it raises, and look at it."""
        try:
            return True, self._table(without_nulls(LIBRARY[name](codec.decode_any(arguments.encode()))))
        except Exception as error:
            return False, str(error)[:LONGEST_MESSAGE]


_WITHOUT = (-1, -1, -1, 12, 0, 0)
"""Fields of a time that are not told."""
_EPOCH, _DAYS_OF_400_YEARS, _EXACT = date(1970, 1, 1).toordinal(), 146_097, 2**53


def _deny(*_: object) -> str:
    raise AttributeError("nothing of the host is visible")


def _fold_case(name: str, text: str) -> str:
    return text.upper() if name == "upper" else text.lower()


def _utc_seconds(*fields: Any) -> int | None:
    """Instant of a year, month, day, hour, minute and second; None for one that is too large.

    As in Karmada: a field that is no number is not there, even a text of digits, which its own `os.time` passes over
    and other readers of Lua take. A month beyond December is of the next year.
    """
    told = zip((*fields, *[None] * 6), _WITHOUT, strict=False)
    try:
        year, month, day, hour, minute, second = (
            int(field) if isinstance(field, int | float) and not isinstance(field, bool) else usual
            for field, usual in told
        )
    except (ValueError, OverflowError):
        return None
    era, of_era = divmod(year + (month - 1) // 12, 400)
    first = date(2000 + of_era, (month - 1) % 12 + 1, 1).toordinal() + (era - 5) * _DAYS_OF_400_YEARS
    seconds = (((first + day - 1 - _EPOCH) * 24 + hour) * 60 + minute) * 60 + second
    return seconds if abs(seconds) < _EXACT else None


@cache
def _prelude() -> str:
    return files("leeward.lua").joinpath("prelude.lua").read_text(encoding="utf-8")
