#!/usr/bin/env bash
# Question: does a configuration in Jsonnet that reads YAML by `std.parseYaml` see the same values in each Jsonnet?
# Versions: jsonnet 0.22.0 (C++), gojsonnet 0.22.0 (Go), rjsonnet 0.5.6 (Rust), all PyPI.
# One would guess: yes; the first two are one release of one project.
# What is: no two agree. To C++ `010`, `0x1F` and `~` are texts, to the others 8, 31 and null. `yes`, `on` and `1_000` are
#   true and 1000 to Go alone, which reads as kubectl does.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jsonnet==0.22.0 gojsonnet==0.22.0 rjsonnet==0.5.6

cat > read.py <<'READ'
import json

import _gojsonnet
import _jsonnet
import rjsonnet

for text in ("010", "0o17", "0x1F", "1_000", "yes", "on", "~", "1e3", "true"):
    snippet = f"std.parseYaml({json.dumps('value: ' + text)}).value"
    readers = (("C++", _jsonnet), ("Go", _gojsonnet), ("Rust", rjsonnet))
    print(f"{text}:", *(f"{name} {reader.evaluate_snippet('snippet', snippet).strip()}" for name, reader in readers))
READ
env/bin/python read.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
010: C++ "010" Go 8 Rust 8
0o17: C++ "0o17" Go 15 Rust 15
0x1F: C++ "0x1F" Go 31 Rust 31
1_000: C++ "1_000" Go 1000 Rust "1_000"
yes: C++ "yes" Go true Rust "yes"
on: C++ "on" Go true Rust "on"
~: C++ "~" Go null Rust null
1e3: C++ 1000 Go 1000 Rust 1000
true: C++ true Go true Rust true
EXPECTED
