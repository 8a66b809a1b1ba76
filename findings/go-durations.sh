#!/usr/bin/env bash
# Question: do libraries read the durations of Kubernetes' fields, which are those of Go, such as `1h30m` or `300ms`?
# Versions: durationpy 0.11, pytimeparse 1.1.10, pytimeparse2 1.7.1 (PyPI), parse-duration 2.1.9, ms 2.1.3 (npm), Go 1.19.8
#   (Debian 12).
# One would guess: yes, or an error for what they do not know.
# What is: `ms` says undefined to two units in one text, pytimeparse None to `0` and `300ms`, and arithmetic goes on with
#   them. All take `1d`, which Go refuses, so that a value that a tool takes is refused later. `5` is five milliseconds, five
#   seconds, or nothing. `3M` is three minutes to three of them; Go refuses it. durationpy alone agrees with Go, but for days.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2
python3 -m venv env
env/bin/pip install -qq durationpy==0.11 pytimeparse==1.1.10 pytimeparse2==1.7.1
echo '{}' > package.json
npm install --silent --no-audit --no-fund parse-duration@2.1.9 ms@2.1.3

cat > main.go <<'MAIN'
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	if read, err := time.ParseDuration(os.Args[1]); err == nil {
		fmt.Println("Go", read.Seconds())
	} else {
		fmt.Println("Go refuses")
	}
}
MAIN
GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/go GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 GOFLAGS= HOME=$work \
  root/usr/lib/go-1.19/bin/go build -o parse main.go
cat > parse.py <<'PARSE'
import sys

import durationpy
import pytimeparse
import pytimeparse2

text = sys.argv[1]
try:
    print(f"durationpy {durationpy.from_str(text).total_seconds():g}")
except durationpy.DurationError:
    print("durationpy refuses")
for library in (pytimeparse, pytimeparse2):
    read = library.parse(text)
    print(library.__name__, read if read is None else f"{read:g}")
PARSE
cat > parse.mjs <<'PARSE'
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const text = process.argv[2];
const { default: parse } = await import(require.resolve("parse-duration"));
for (const [library, read] of [["parse-duration", parse(text)], ["ms", require("ms")(text)]])
  console.log(library, typeof read === "number" ? read / 1000 : read);
PARSE
for text in 1h30m 300ms 0 1m30 1d 5 3M; do
  echo "$text: $({ ./parse "$text"; env/bin/python parse.py "$text"; node parse.mjs "$text"; } | paste -sd ';' | sed 's/;/; /g')"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
1h30m: Go 5400; durationpy 5400; pytimeparse 5400; pytimeparse2 5400; parse-duration 5400; ms undefined
300ms: Go 0.3; durationpy 0.3; pytimeparse None; pytimeparse2 0.3; parse-duration 0.3; ms 0.3
0: Go 0; durationpy 0; pytimeparse None; pytimeparse2 0; parse-duration 0; ms 0
1m30: Go refuses; durationpy refuses; pytimeparse None; pytimeparse2 None; parse-duration 90; ms undefined
1d: Go refuses; durationpy 86400; pytimeparse 86400; pytimeparse2 86400; parse-duration 86400; ms 86400
5: Go refuses; durationpy refuses; pytimeparse None; pytimeparse2 5; parse-duration 0.005; ms 0.005
3M: Go refuses; durationpy refuses; pytimeparse 180; pytimeparse2 180; parse-duration 180; ms 180
EXPECTED
