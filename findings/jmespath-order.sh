#!/usr/bin/env bash
# Question: does a filter of JMESPath, as pipelines and Kyverno have, find the same members in each library, when a field is
#   missing or holds a text?
# Versions: jmespath 1.1.0 (PyPI), jmespath 0.16.0, @jmespath-community/jmespath 1.3.0, @metrichor/jmespath 0.3.1 (npm).
# One would guess: yes; JMESPath has a specification with tests of conformance, and two of these are of its authors.
# What is: to two libraries for Node a missing number is less than 1, so that `replicas < 1` finds what has no replicas yet.
#   Three put texts in order, one finds nothing. to_number reads `0x10` in Node, and to_string(1.0) has a point in Python.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jmespath==1.1.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund jmespath@0.16.0 @jmespath-community/jmespath@1.3.0 @metrichor/jmespath@0.3.1

cat > items.json <<'ITEMS'
{"items": [{"name": "a", "replicas": 3}, {"name": "b", "replicas": 0}, {"name": "c"}, {"name": "d", "replicas": null}]}
ITEMS
cat > search.py <<'SEARCH'
import json
import sys
from pathlib import Path

import jmespath

found = jmespath.search(sys.argv[1], json.loads(Path("items.json").read_text()))
print("  jmespath for Python:", json.dumps(found, separators=(",", ":")))
SEARCH
cat > search.js <<'SEARCH'
const items = JSON.parse(require("fs").readFileSync("items.json"));
for (const name of ["jmespath", "@jmespath-community/jmespath", "@metrichor/jmespath"])
  console.log(`  ${name}: ${JSON.stringify(require(name).search(items, process.argv[2]))}`);
SEARCH
for expression in 'items[?replicas < `1`].name' 'items[?replicas <= `0`].name' "items[?name > 'b'].name" "to_number('0x10')" \
  'to_string(`1.0`)'; do
  echo "$expression"
  env/bin/python search.py "$expression"
  node search.js "$expression"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
items[?replicas < `1`].name
  jmespath for Python: ["b"]
  jmespath: ["b","c","d"]
  @jmespath-community/jmespath: ["b"]
  @metrichor/jmespath: ["b","c","d"]
items[?replicas <= `0`].name
  jmespath for Python: ["b"]
  jmespath: ["b","c","d"]
  @jmespath-community/jmespath: ["b"]
  @metrichor/jmespath: ["b","c","d"]
items[?name > 'b'].name
  jmespath for Python: ["c","d"]
  jmespath: ["c","d"]
  @jmespath-community/jmespath: []
  @metrichor/jmespath: ["c","d"]
to_number('0x10')
  jmespath for Python: null
  jmespath: 16
  @jmespath-community/jmespath: 16
  @metrichor/jmespath: 16
to_string(`1.0`)
  jmespath for Python: "1.0"
  jmespath: "1"
  @jmespath-community/jmespath: "1"
  @metrichor/jmespath: "1"
EXPECTED
