#!/usr/bin/env bash
# Question: which groups of Kubernetes has a client certificate, whose subject names an organization for each group?
# Versions: cryptography 50.0.2, pyOpenSSL 26.4.0 (PyPI), node-forge 1.4.3 (npm), Node's own crypto.
# One would guess: both, by each library, as API servers read them.
# What is: `subject.O` of pyOpenSSL and `getField("O")` of node-forge give the first group alone, without a word of the second.
#   Node's `subject` is a text in which both have a line; its older form has a list for two, and a text for one.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq cryptography==50.0.2 pyOpenSSL==26.4.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund node-forge@1.4.3
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out two.pem -days 2 -subj /O=viewers/O=admins/CN=jane 2> /dev/null
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out one.pem -days 2 -subj /O=viewers/CN=jane 2> /dev/null
cat > groups.py <<'GROUPS'
from cryptography import x509
from OpenSSL import crypto

for file in ("one.pem", "two.pem"):
    with open(file, "rb") as pem:
        text = pem.read()
    subject = x509.load_pem_x509_certificate(text).subject
    print(file, "cryptography:", [group.value for group in subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)])
    print(file, "pyOpenSSL:", crypto.load_certificate(crypto.FILETYPE_PEM, text).get_subject().O)
GROUPS
cat > groups.cjs <<'GROUPS'
const { X509Certificate } = require("node:crypto");
const { pki } = require("node-forge");
for (const file of ["one.pem", "two.pem"]) {
  const text = require("node:fs").readFileSync(file, "utf8");
  console.log(file, "node-forge:", pki.certificateFromPem(text).subject.getField("O").value);
  console.log(file, "Node, subject:", JSON.stringify(new X509Certificate(text).subject));
  console.log(file, "Node, older form:", JSON.stringify(new X509Certificate(text).toLegacyObject().subject.O));
}
GROUPS
{ env/bin/python -W ignore groups.py && node groups.cjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
one.pem cryptography: ['viewers']
one.pem pyOpenSSL: viewers
two.pem cryptography: ['viewers', 'admins']
two.pem pyOpenSSL: viewers
one.pem node-forge: viewers
one.pem Node, subject: "O=viewers\nCN=jane"
one.pem Node, older form: "viewers"
two.pem node-forge: viewers
two.pem Node, subject: "O=viewers\nO=admins\nCN=jane"
two.pem Node, older form: ["viewers","admins"]
EXPECTED
