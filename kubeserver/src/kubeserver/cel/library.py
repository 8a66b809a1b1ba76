"""The CEL library behind `Program`: the only module that knows it. It is loaded with the first expression.

The library counts the steps of comprehensions and gives up beyond `MAX_STEPS`; its regular expressions take linear
time. What a rule may cost all in all is `budget.py`'s business.
"""

from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Any

from cel_expr_python import cel

from kubeserver.cel.authorizer import AUTHORIZER_FUNCTIONS
from kubeserver.cel.budget import MAX_STEPS
from kubeserver.cel.formats import FORMAT_FUNCTIONS
from kubeserver.cel.function import Function
from kubeserver.cel.literals import mixed_literal
from kubeserver.cel.macros import MACRO_FUNCTIONS, without_map_macros
from kubeserver.cel.network import NETWORK_FUNCTIONS
from kubeserver.cel.objects import OBJECT_FUNCTIONS
from kubeserver.cel.optionals import misplaced_optional
from kubeserver.cel.patterns import PATTERN_FUNCTIONS
from kubeserver.cel.program import Program, Unwritable
from kubeserver.cel.scalars import SCALAR_FUNCTIONS
from kubeserver.cel.spelling import with_comparisons, with_optionals, with_own_names, without_escapes
from kubeserver.cel.values import VALUE_FUNCTIONS

FUNCTIONS = (
    *VALUE_FUNCTIONS,
    *NETWORK_FUNCTIONS,
    *FORMAT_FUNCTIONS,
    *AUTHORIZER_FUNCTIONS,
    *OBJECT_FUNCTIONS,
    *PATTERN_FUNCTIONS,
    *SCALAR_FUNCTIONS,
)
"""Kubernetes' own functions.

Kubernetes: apiserver/pkg/cel/library; the same functions.
"""

_OWN = frozenset(function.name for function in (*FUNCTIONS, *MACRO_FUNCTIONS))

_TYPES: Mapping[str, Any] = {
    "bool": cel.Type.BOOL,
    "bytes": cel.Type.BYTES,
    "duration": cel.Type.DURATION,
    "int": cel.Type.INT,
    "timestamp": cel.Type.TIMESTAMP,
    "type": cel.Type.TYPE,
    "uint": cel.Type.UINT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "dyn": cel.Type.DYN,
    "list": cel.Type.List(cel.Type.DYN),
    "map": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "typed": cel.Type.DYN,
}
_EXTENSIONS = """
name: rules
extensions:
- {name: lists}
- {name: optional, version: 2}
- {name: strings, version: 2}
- {name: two-var-comprehensions}
"""
"""Libraries of CEL that Kubernetes 1.36 has: not `math`, `cel.bind`, nor `reverse` of texts."""
_TOO_MANY_STEPS = "Iteration budget exceeded"


def compile_cel(text: str, variables: tuple[str, ...]) -> Program:
    """Raises: Unwritable."""
    if mixed := mixed_literal(text):
        raise Unwritable(mixed)
    try:
        expression = checked(text, variables)
        if fault := misplaced_optional(expression.serialize(), _OWN):
            raise ValueError(fault)
        return _Compiled(expression)
    except Exception as error:
        raise Unwritable(str(error)) from error


def checked(text: str, variables: tuple[str, ...]) -> Any:
    """The expression as the library has checked it, which may not be evaluated yet."""
    readable = without_escapes(with_own_names(with_comparisons(with_optionals(without_map_macros(text)))))
    return _environment(variables).compile(readable)


@cache
def _environment(variables: tuple[str, ...]) -> Any:
    config = cel.NewEnvConfigFromYaml(_EXTENSIONS)
    return cel.NewEnv(config=config, variables=dict.fromkeys(variables, cel.Type.DYN), extensions=[_kubernetes()])


def _kubernetes() -> Any:
    """Comes last: some functions are overloads of those in the libraries before it."""
    functions = sorted((*FUNCTIONS, *MACRO_FUNCTIONS), key=lambda function: function.name)
    by_name = groupby(functions, key=lambda function: function.name)
    declared = [cel.FunctionDecl(name, [_overload(function) for function in group]) for name, group in by_name]
    return cel.CelExtension("kubernetes", declared)


def _overload(function: Function) -> Any:
    result, *parameters = function.signature.split()
    identity = "_".join(("kubeserver", function.name, *parameters)).replace(".", "_")
    types = [_TYPES[name] for name in parameters]
    return cel.Overload(identity, _TYPES[result], types, function.member, function.run)


class _Compiled:
    def __init__(self, expression: Any) -> None:
        self._expression = expression

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        try:
            result = self._expression.eval(data=dict(variables))
            is_error = result.type() == cel.Type.ERROR
            value = result.value() if is_error else result.plain_value()
        except Exception as error:
            raise ValueError(_told(str(error))) from error
        if is_error:
            raise ValueError(_told(str(value)))
        return value


def _told(message: str) -> str:
    if _TOO_MANY_STEPS in message:
        return f"call cost exceeds limit: more than {MAX_STEPS} steps; set maxItems or write a cheaper rule"
    return message
