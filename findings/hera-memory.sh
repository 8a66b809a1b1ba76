#!/usr/bin/env bash
# Question: which amounts of memory may a step of Argo Workflows ask for, when hera writes it?
# Versions: hera 7.1.0 (PyPI).
# One would guess: each quantity that Kubernetes takes; hera has a type Quantity, and checks a request against its limit.
# What is: units of 1024 alone, from Ki to Ei. `50M`, `1G`, a number of bytes such as `1048576`, and `128974848000m`, as API
#   servers write fractions, are errors. So is `1e-1` of a CPU.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq hera==7.1.0
cat > ask.py <<'ASK'
from hera.workflows import Resources

for field, values in (
    ("memory_request", ("64Mi", "1.5Gi", "50M", "1G", "1048576", "1e9", "128974848000m")),
    ("cpu_request", ("500m", "0.5", "1e-1")),
):
    for value in values:
        try:
            Resources(**{field: value}).build()
            print(f"{field} {value}: taken")
        except ValueError as error:
            print(f"{field} {value}: {type(error).__name__}")
ASK
env/bin/python ask.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
memory_request 64Mi: taken
memory_request 1.5Gi: taken
memory_request 50M: ValueError
memory_request 1G: ValueError
memory_request 1048576: ValueError
memory_request 1e9: ValueError
memory_request 128974848000m: ValueError
cpu_request 500m: taken
cpu_request 0.5: taken
cpu_request 1e-1: ValueError
EXPECTED
