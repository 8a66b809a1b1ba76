#!/usr/bin/env bash
# Question: which license does a bill of materials name, after a library has read or corrected the expression of a package?
# Versions: license-expression 30.4.4 (PyPI), spdx-expression-parse 5.0.0, spdx-correct 3.2.0 (npm).
# One would guess: one; SPDX has one grammar and one list, in which `GPL-3.0` is an old name.
# What is: `GPL-3.0` is GPL-3.0-only by the library for Python and GPL-3.0-or-later by spdx-correct, whose LGPL-2.1 is
#   "only". spdx-correct makes `MIT or Apache-2.0` the second alone. The library for Python refuses `Apache-2.0+` and each
#   LicenseRef, and takes `eCos-2.0` for an exception; spdx-expression-parse refuses small letters and a tab.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq license-expression==30.4.4
echo '{}' > package.json
npm install --silent --no-audit --no-fund spdx-expression-parse@5.0.0 spdx-correct@3.2.0
cat > read.py <<'READ'
import sys

from license_expression import ExpressionError, ExpressionParseError, get_spdx_licensing

try:
    print("  license-expression:", get_spdx_licensing().parse(sys.argv[1], validate=True, strict=True))
except (ExpressionError, ExpressionParseError) as error:
    print("  license-expression refuses it:", type(error).__name__)
READ
cat > read.cjs <<'READ'
const parse = require("spdx-expression-parse");
const text = ({ license, plus, exception, left, conjunction, right }) =>
  license ? license + (plus ? "+" : "") + (exception ? ` WITH ${exception}` : "")
    : `${text(left)} ${conjunction.toUpperCase()} ${text(right)}`;
try {
  console.log("  spdx-expression-parse:", text((parse.default ?? parse)(process.argv[2])));
} catch (error) {
  console.log("  spdx-expression-parse refuses it");
}
console.log("  spdx-correct:", require("spdx-correct")(process.argv[2]));
READ
for expression in GPL-3.0 LGPL-2.1 'MIT or Apache-2.0' Apache-2.0+ LicenseRef-acme eCos-2.0 mit $'MIT AND\tZlib'; do
  echo "$(printf %q "$expression"):"
  env/bin/python read.py "$expression"
  node read.cjs "$expression"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
GPL-3.0:
  license-expression: GPL-3.0-only
  spdx-expression-parse: GPL-3.0
  spdx-correct: GPL-3.0-or-later
LGPL-2.1:
  license-expression: LGPL-2.1-only
  spdx-expression-parse: LGPL-2.1
  spdx-correct: LGPL-2.1-only
MIT\ or\ Apache-2.0:
  license-expression: MIT OR Apache-2.0
  spdx-expression-parse: MIT OR Apache-2.0
  spdx-correct: Apache-2.0
Apache-2.0+:
  license-expression refuses it: ExpressionError
  spdx-expression-parse: Apache-2.0+
  spdx-correct: Apache-2.0+
LicenseRef-acme:
  license-expression refuses it: ExpressionError
  spdx-expression-parse: LicenseRef-acme
  spdx-correct: LicenseRef-acme
eCos-2.0:
  license-expression refuses it: ExpressionParseError
  spdx-expression-parse: eCos-2.0
  spdx-correct: eCos-2.0
mit:
  license-expression: MIT
  spdx-expression-parse refuses it
  spdx-correct: MIT
$'MIT AND\tZlib':
  license-expression: MIT AND Zlib
  spdx-expression-parse refuses it
  spdx-correct: Zlib
EXPECTED
