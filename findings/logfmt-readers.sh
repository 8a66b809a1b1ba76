#!/usr/bin/env bash
# Question: do libraries read the lines of logfmt that programs in Go write, such as Prometheus?
# Versions: golang-github-go-logfmt-logfmt-dev 0.5.0 with golang-1.19 1.19.8 (Debian 12), logfmt 0.4 (PyPI), logfmt 1.4.0,
#   @jclem/logfmt2 2.4.3 (npm).
# One would guess: yes; a line is made of keys, `=` and values in quotes, whose escapes are those of JSON.
# What is: none does. Of a value with a tab, a newline or a backslash in quotes, the library for Python makes `true`. Both for
#   Node make the letter t or n of a tab or a newline. A backslash without quotes, as Go writes it, is lost in Node.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2 golang-github-go-logfmt-logfmt-dev=0.5.0-2
python3 -m venv env
env/bin/pip install -qq logfmt==0.4
echo '{}' > package.json
npm install --silent --no-audit --no-fund logfmt@1.4.0 @jclem/logfmt2@2.4.3

cat > main.go <<'MAIN'
package main

import (
	"os"

	"github.com/go-logfmt/logfmt"
)

func main() {
	for _, value := range []string{"no such host", `say "hi"`, "first\nsecond", "a\tb", `C:\temp`, `\d+ of 3`} {
		line := logfmt.NewEncoder(os.Stdout)
		if err := line.EncodeKeyvals("err", value, "level", "warn"); err != nil {
			panic(err)
		}
		line.EndRecord()
	}
}
MAIN
GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/root/usr/share/gocode GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 \
  GOFLAGS= HOME=$work root/usr/lib/go-1.19/bin/go build -o write main.go
./write > lines
cat > read.py <<'READ'
import json

import logfmt

with open("lines") as lines:
    for line in lines:
        (read,) = logfmt.parse([line])
        print("logfmt of Python:", line.rstrip(), "->", json.dumps(read["err"]))
READ
cat > read.cjs <<'READ'
const libraries = { "logfmt of Node": require("logfmt").parse, "@jclem/logfmt2": require("@jclem/logfmt2").decode };
const lines = require("node:fs").readFileSync("lines", "utf8").trim().split("\n");
for (const [library, read] of Object.entries(libraries))
  for (const line of lines) console.log(`${library}:`, line, "->", JSON.stringify(read(line).err));
READ
{ env/bin/python read.py && node read.cjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
logfmt of Python: err="no such host" level=warn -> "no such host"
logfmt of Python: err="say \"hi\"" level=warn -> "say \"hi\""
logfmt of Python: err="first\nsecond" level=warn -> true
logfmt of Python: err="a\tb" level=warn -> true
logfmt of Python: err=C:\temp level=warn -> "C:\\temp"
logfmt of Python: err="\\d+ of 3" level=warn -> true
logfmt of Node: err="no such host" level=warn -> "no such host"
logfmt of Node: err="say \"hi\"" level=warn -> "say \"hi\""
logfmt of Node: err="first\nsecond" level=warn -> "firstnsecond"
logfmt of Node: err="a\tb" level=warn -> "atb"
logfmt of Node: err=C:\temp level=warn -> "C:temp"
logfmt of Node: err="\\d+ of 3" level=warn -> "\\d+ of 3"
@jclem/logfmt2: err="no such host" level=warn -> "no such host"
@jclem/logfmt2: err="say \"hi\"" level=warn -> "say \"hi\""
@jclem/logfmt2: err="first\nsecond" level=warn -> "firstnsecond"
@jclem/logfmt2: err="a\tb" level=warn -> "atb"
@jclem/logfmt2: err=C:\temp level=warn -> "C:temp"
@jclem/logfmt2: err="\\d+ of 3" level=warn -> "\\d+ of 3"
EXPECTED
