#!/usr/bin/env bash
# Question: do CEL's libraries for Python give one value for one expression? Rules of Kubernetes are tried out with them.
# Versions: cel-python 0.5.0, common-expression-language 0.10.0 (Rust), cel-expr-python 0.1.3 (C++), all PyPI.
# One would guess: yes; CEL has one specification, and these expressions use its standard functions only.
# What is: they agree on none of these seven. cel-python writes true as `True`, holds NaN equal to NaN, and reads `0x10`.
#   The Rust library has no string(true), counts bytes for letters, and writes a duration as Go does. Of 1.5 s both see
#   1500 milliseconds, as Kubernetes does; Google's own library sees the 500 beside the second.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq cel-python==0.5.0 common-expression-language==0.10.0 cel-expr-python==0.1.3

cat > expressions.py <<'EXPRESSIONS'
import cel
import celpy
from cel_expr_python import cel as google

EXPRESSIONS = (
    "string(true)",
    "0.0 / 0.0 == 0.0 / 0.0",
    "int('0x10')",
    "1 == 1.0",
    "size('é')",
    "string(duration('90m'))",
    "duration('1.5s').getMilliseconds()",
)


def by_celpy(expression):
    environment = celpy.Environment()
    return environment.program(environment.compile(expression)).evaluate({})


def by_rust(expression):
    return cel.evaluate(expression, {})


def by_google(expression):
    value = google.NewEnv().compile(expression).eval()
    if "INVALID" in str(value.value()):
        raise ValueError(value.value())
    return value.value()


def shown(evaluate, expression):
    try:
        return str(evaluate(expression))
    except Exception:
        return "an error"


for expression in EXPRESSIONS:
    print(expression, *(shown(how, expression) for how in (by_celpy, by_rust, by_google)), sep=" | ")
EXPRESSIONS
env/bin/python -W ignore expressions.py 2> /dev/null | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
string(true) | True | an error | true
0.0 / 0.0 == 0.0 / 0.0 | True | False | False
int('0x10') | 16 | an error | an error
1 == 1.0 | an error | True | an error
size('é') | 1 | 2 | 1
string(duration('90m')) | 5400s | 1h30m0s | 5400s
duration('1.5s').getMilliseconds() | 1500 | 1500 | 500
EXPECTED
