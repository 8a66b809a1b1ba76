#!/usr/bin/env bash
# Question: do libraries part the name of an image into registry, repository, tag and digest as container runtimes do?
# Versions: docker-image-py 0.2.0, oras 0.2.43 (PyPI), docker-parse-image 3.0.1, parse-docker-image-name 3.0.0 (npm).
# One would guess: yes; the grammar is old and short, and each of them is made for it.
# What is: two of four take `localhost` for a folder of Docker Hub. docker-image-py (split_hostname) takes `shop`, a folder
#   there, for a registry. docker-parse-image puts a digest into the tag, and of a deep path `registry:5000` becomes name and tag.
#   parse-docker-image-name alone agrees with runtimes on all.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq docker-image-py==0.2.0 oras==0.2.43
echo '{}' > package.json
npm install --silent --no-audit --no-fund docker-parse-image@3.0.1 parse-docker-image-name@3.0.0

cat > names <<'NAMES'
localhost/app:1
shop/app:1
shop/app:1@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
registry:5000/app
registry:5000/shop/web/app:1
NAMES
cat > parts.py <<'PARTS'
import sys

from docker_image.reference import Reference
from oras.container import Container

for text in sys.argv[1:]:
    found = Reference.parse(text)
    registry, path = found.split_hostname()
    print("docker-image-py", registry or "-", path, found["tag"] or "-", (found["digest"] or "-")[:9])
    found = Container(text)
    path = "/".join(filter(None, (found.namespace, found.repository)))
    print("oras", found.registry or "-", path, found.tag or "-", (found.digest or "-")[:9])
PARTS
cat > parts.js <<'PARTS'
const parse = require("docker-parse-image");
const other = require("parse-docker-image-name");
for (const text of process.argv.slice(2)) {
  const one = parse(text);
  const path = [one.namespace, one.repository].filter(Boolean).join("/");
  console.log("docker-parse-image", one.registry || "-", path, (one.tag || "-").slice(0, 40), "-");
  const two = other(text);
  console.log("parse-docker-image-name", two.domain || "-", two.path, two.tag || "-", (two.digest || "-").slice(0, 9));
}
PARTS
while read -r name; do
  echo "${name:0:50}: registry, path, tag, digest"
  { env/bin/python parts.py "$name" && node parts.js "$name"; } | sed 's/^/  /'
done < names | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
localhost/app:1: registry, path, tag, digest
  docker-image-py localhost app 1 -
  oras docker.io localhost/app 1 -
  docker-parse-image - localhost/app 1 -
  parse-docker-image-name localhost app 1 -
shop/app:1: registry, path, tag, digest
  docker-image-py shop app 1 -
  oras docker.io shop/app 1 -
  docker-parse-image - shop/app 1 -
  parse-docker-image-name - shop/app 1 -
shop/app:1@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: registry, path, tag, digest
  docker-image-py shop app 1 sha256:aa
  oras docker.io shop/app 1 sha256:aa
  docker-parse-image - shop/app 1@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -
  parse-docker-image-name - shop/app 1 sha256:aa
registry:5000/app: registry, path, tag, digest
  docker-image-py registry:5000 app - -
  oras registry:5000 app latest -
  docker-parse-image registry:5000 app - -
  parse-docker-image-name registry:5000 app - -
registry:5000/shop/web/app:1: registry, path, tag, digest
  docker-image-py registry:5000 shop/web/app 1 -
  oras registry:5000 shop/web/app 1 -
  docker-parse-image - registry 5000/shop/web/app:1 -
  parse-docker-image-name registry:5000 shop/web/app 1 -
EXPECTED
