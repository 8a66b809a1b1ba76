#!/usr/bin/env bash
# Question: which files does a library send to an image build, that reads .dockerignore as Docker does?
# Versions: docker 7.2.0 (PyPI), @balena/dockerignore 1.0.2 (npm).
# One would guess: those that `docker build` sends. Its patterns are those of Go's filepath.Match, with `**` and `!` added.
# What is: docker-py reads `[^a]`, which is all letters but a in Go, as the letters ^ and a, and `[!a]` the other way about.
#   A sign behind a backslash it does not find, and `!` brings no file back out of `docs/**`. @balena/dockerignore does as
#   Go.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq docker==7.2.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund @balena/dockerignore@1.0.2
mkdir -p context/docs/sub
touch context/a.txt context/b.txt 'context/[x].txt' context/docs/x.md context/docs/sub/y.md
cat > sent.py <<'SENT'
import sys
from pathlib import Path

from docker.utils.build import exclude_paths

sent = exclude_paths("context", sys.argv[1:])
print("  docker-py:", *sorted(path for path in sent if Path("context", path).is_file()))
SENT
cat > sent.cjs <<'SENT'
const files = ["[x].txt", "a.txt", "b.txt", "docs/sub/y.md", "docs/x.md"];
const ignored = require("@balena/dockerignore")({ ignorecase: false }).add(process.argv.slice(2));
console.log("  @balena/dockerignore:", ...files.filter(ignored.createFilter()));
SENT
sent() {
  echo "$*:"
  env/bin/python sent.py "$@"
  node sent.cjs "$@"
}
{
  sent '*.txt' '!b.txt'
  sent '[^a].txt'
  sent '[!a].txt'
  sent '\[x\].txt'
  sent 'docs/**' '!docs/**/y.md'
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
*.txt !b.txt:
  docker-py: b.txt docs/sub/y.md docs/x.md
  @balena/dockerignore: b.txt docs/sub/y.md docs/x.md
[^a].txt:
  docker-py: [x].txt b.txt docs/sub/y.md docs/x.md
  @balena/dockerignore: [x].txt a.txt docs/sub/y.md docs/x.md
[!a].txt:
  docker-py: [x].txt a.txt docs/sub/y.md docs/x.md
  @balena/dockerignore: [x].txt b.txt docs/sub/y.md docs/x.md
\[x\].txt:
  docker-py: [x].txt a.txt b.txt docs/sub/y.md docs/x.md
  @balena/dockerignore: a.txt b.txt docs/sub/y.md docs/x.md
docs/** !docs/**/y.md:
  docker-py: [x].txt a.txt b.txt
  @balena/dockerignore: [x].txt a.txt b.txt docs/sub/y.md
EXPECTED
