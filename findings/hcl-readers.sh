#!/usr/bin/env bash
# Question: manifests stand in Terraform files, as `kubernetes_manifest`; do libraries read the same values there?
# Versions: python-hcl2 8.1.4, bc-python-hcl2 0.4.3 (PyPI), hcl2-parser 1.0.3, @cdktf/hcl2json 0.21.0 (npm).
# One would guess: yes; the two for Node are HashiCorp's own reader, and the others are made to be like it.
# What is: python-hcl2 leaves the quotes and escapes in texts and keys, and the marks of a heredoc in its text, so that no key
#   `kind` is found. bc-python-hcl2, by which checkov reads, takes quotes away and leaves the escapes, puts each value into a
#   list, takes the last newline of a heredoc, and refuses `1e3`. hcl2-parser makes `${HOME}` of the escaped `$${HOME}`, which
#   is then like a reference of Terraform.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
python3 -m venv env_of_bc
env/bin/pip install -qq python-hcl2==8.1.4
env_of_bc/bin/pip install -qq bc-python-hcl2==0.4.3
echo '{}' > package.json
npm install --silent --no-audit --no-fund hcl2-parser@1.0.3 @cdktf/hcl2json@0.21.0
cat > texts.json <<'TEXTS'
[
  "manifest = { \"kind\" = \"Deployment\" }",
  "value = \"say \\\"hi\\\"\"",
  "value = \"$${HOME}\"",
  "value = <<-EOT\n  #!/bin/sh\n    exit\n  EOT",
  "value = 1e3"
]
TEXTS

cat > read.py <<'READ'
import json
import sys

import hcl2

with open("texts.json") as file:
    for text in json.load(file):
        try:
            (value,) = hcl2.loads(text + "\n").values()
            print(f"{sys.argv[1]}: {json.dumps(text)} is {json.dumps(value)}")
        except Exception:
            print(f"{sys.argv[1]}: {json.dumps(text)} is refused")
READ
cat > read.cjs <<'READ'
const { parse } = require("@cdktf/hcl2json");
const { parseToObject } = require("hcl2-parser");
const tell = (library, text, [value]) =>
  console.log(`${library}: ${JSON.stringify(text)} is ${JSON.stringify(value).replaceAll(":", ": ")}`);
(async () => {
  for (const text of require("./texts.json")) {
    tell("hcl2-parser", text, Object.values(parseToObject(text + "\n")[0]));
    tell("@cdktf/hcl2json", text, Object.values(await parse("main.tf", text + "\n")));
  }
})();
READ
{
  env/bin/python read.py python-hcl2
  env_of_bc/bin/python read.py bc-python-hcl2
  node read.cjs | sort -s -t: -k1,1
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
python-hcl2: "manifest = { \"kind\" = \"Deployment\" }" is {"\"kind\"": "\"Deployment\""}
python-hcl2: "value = \"say \\\"hi\\\"\"" is "\"say \\\"hi\\\"\""
python-hcl2: "value = \"$${HOME}\"" is "\"$${HOME}\""
python-hcl2: "value = <<-EOT\n  #!/bin/sh\n    exit\n  EOT" is "\"<<-EOT\n  #!/bin/sh\n    exit\n  EOT\""
python-hcl2: "value = 1e3" is "${1e3}"
bc-python-hcl2: "manifest = { \"kind\" = \"Deployment\" }" is [{"kind": "Deployment"}]
bc-python-hcl2: "value = \"say \\\"hi\\\"\"" is ["say \\\"hi\\\""]
bc-python-hcl2: "value = \"$${HOME}\"" is ["$${HOME}"]
bc-python-hcl2: "value = <<-EOT\n  #!/bin/sh\n    exit\n  EOT" is ["#!/bin/sh\n  exit"]
bc-python-hcl2: "value = 1e3" is refused
@cdktf/hcl2json: "manifest = { \"kind\" = \"Deployment\" }" is {"kind": "Deployment"}
@cdktf/hcl2json: "value = \"say \\\"hi\\\"\"" is "say \"hi\""
@cdktf/hcl2json: "value = \"$${HOME}\"" is "$${HOME}"
@cdktf/hcl2json: "value = <<-EOT\n  #!/bin/sh\n    exit\n  EOT" is "#!/bin/sh\n  exit\n"
@cdktf/hcl2json: "value = 1e3" is 1000
hcl2-parser: "manifest = { \"kind\" = \"Deployment\" }" is {"kind": "Deployment"}
hcl2-parser: "value = \"say \\\"hi\\\"\"" is "say \"hi\""
hcl2-parser: "value = \"$${HOME}\"" is "${HOME}"
hcl2-parser: "value = <<-EOT\n  #!/bin/sh\n    exit\n  EOT" is "#!/bin/sh\n  exit\n"
hcl2-parser: "value = 1e3" is 1000
EXPECTED
