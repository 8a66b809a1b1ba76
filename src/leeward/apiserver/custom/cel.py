"""The CEL library behind `rules.Program`: the only module that knows it. It is loaded with the first rule."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_optional, ext_strings

from leeward.apiserver.custom.rules import Program, Unwritable


def compile_cel(text: str, variables: tuple[str, ...]) -> Program:
    """Raises: Unwritable."""
    try:
        return _Compiled(_environment(variables).compile(text))
    except Exception as error:
        raise Unwritable(str(error)) from error


@cache
def _environment(variables: tuple[str, ...]) -> Any:
    extensions = [ext_math.ExtMath(), ext_optional.ExtOptional(), ext_strings.ExtStrings()]
    return cel.NewEnv(variables=dict.fromkeys(variables, cel.Type.DYN), extensions=extensions)


class _Compiled:
    def __init__(self, expression: Any) -> None:
        self._expression = expression

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        try:
            result = self._expression.eval(data=dict(variables))
        except Exception as error:
            raise ValueError(str(error)) from error
        if result.type() == cel.Type.ERROR:
            raise ValueError(str(result.value()))
        return result.plain_value()
