#!/usr/bin/env bash
# Question: a program reads the memory of a Pod with a library for sizes of files, or for units; is it the same number?
# Versions: humanfriendly 10.0, pydantic 2.14.4 (ByteSize), bitmath 2.1.1, pint 0.25.3 (PyPI), bytes 3.1.2,
#   filesize-parser 1.5.2, bytes-iec 3.1.1 (npm).
# One would guess: a library reads `512Mi` as 536870912, or refuses it: `Mi` is a prefix of a standard.
# What is: humanfriendly makes 512000000 of it, bytes 512, without an error. `1G` is 1073741824 to bitmath and
#   filesize-parser, and one gauss to pint; `500m`, half a CPU, is 500 megabytes, or metres, or 500. Only `128974848`, `2` and
#   what is refused is safe.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq humanfriendly==10.0 pydantic==2.14.4 bitmath==2.1.1 pint==0.25.3
echo '{}' > package.json
npm install --silent --no-audit --no-fund bytes@3.1.2 filesize-parser@1.5.2 bytes-iec@3.1.1
cat > by_python.py <<'PYTHON'
import sys

import bitmath
import humanfriendly
import pint
import pydantic

units, size = pint.UnitRegistry(), pydantic.TypeAdapter(pydantic.ByteSize)
readers = {
    "humanfriendly": humanfriendly.parse_size,
    "pydantic": lambda text: int(size.validate_python(text)),
    "bitmath": lambda text: int(bitmath.parse_string(text, strict=False).bytes),
    "pint": units,
}
for name, read in readers.items():
    try:
        print(f"  {name}: {read(sys.argv[1])}")
    except Exception:
        print(f"  {name}: refused")
PYTHON
cat > by_node.cjs <<'NODE'
const readers = { bytes: require("bytes").parse, "filesize-parser": require("filesize-parser"), "bytes-iec": require("bytes-iec").parse };
for (const [name, read] of Object.entries(readers)) {
  let said;
  try { said = read(process.argv[2]) ?? "refused"; } catch { said = "refused"; }
  console.log(`  ${name}: ${said}`);
}
NODE
for text in 512Mi 1G 500m 128974848; do
  echo "$text"
  env/bin/python by_python.py $text
  node by_node.cjs $text
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
512Mi
  humanfriendly: 512000000
  pydantic: refused
  bitmath: 536870912
  pint: refused
  bytes: 512
  filesize-parser: 536870912
  bytes-iec: refused
1G
  humanfriendly: 1000000000
  pydantic: 1000000000
  bitmath: 1073741824
  pint: 1 gauss
  bytes: 1
  filesize-parser: 1073741824
  bytes-iec: refused
500m
  humanfriendly: 500000000
  pydantic: 500000000
  bitmath: 524288000
  pint: 500 meter
  bytes: 500
  filesize-parser: 524288000
  bytes-iec: refused
128974848
  humanfriendly: 128974848
  pydantic: 128974848
  bitmath: 128974848
  pint: 128974848 dimensionless
  bytes: 128974848
  filesize-parser: 128974848
  bytes-iec: 128974848
EXPECTED
