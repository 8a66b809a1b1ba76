#!/usr/bin/env bash
# Question: the server ends a watch, as API servers do with each within an hour, and at once when its version has expired;
#   what do the loops over events of client libraries do?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm).
# One would guess: they go on from the last version after an ordinary end, and list anew or raise after an expired one.
# What is: after an ordinary end kr8s, pykube and the Watch of client-node end too, without an error: a loop that is to run
#   for ever stops. After an expired version kubernetes, kubernetes_asyncio and kr8s ask for the same version again, and
#   client-node and pykube give the error as an event and end. Only lightkube raises.
source "$(dirname "$0")/support/clients.sh"
cat > ending.py <<'ENDING'
import json
import sys
import time
from pathlib import Path

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "watch")
OBJECT = {
    "kind": "ConfigMap", "apiVersion": "v1",
    "metadata": {"name": "a", "namespace": "default", "uid": "a", "resourceVersion": "5"},
}
EXPIRED = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
    "message": "too old resource version: 5 (60)",
}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if not path.endswith("/configmaps"):
            return self.say(ANSWERS[path.rstrip("/")])
        self.see(query.partition("resourceVersion=")[2].partition("&")[0] + ".")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if len(Path(sys.argv[2]).read_text().splitlines()) == 1:
            self.event("ADDED", OBJECT)
            if Path("end").read_text() == "expired":
                self.event("ERROR", EXPIRED)
        else:
            time.sleep(20)
        self.wfile.write(b"0\r\n\r\n")

    def event(self, kind: str, item: object) -> None:
        line = json.dumps({"type": kind, "object": item}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        time.sleep(0.1)


serve(Handler)
ENDING
program=$PWD/ending.py
install kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
kubeconfig "token: t"
for end in ordinary expired; do
  printf '%s' "$end" > end
  echo "an end that is $end:"
  for client in "${clients[@]}"; do
    : > seen
    case $client in
      client-node) node "$support/ask.mjs" config watch 8 ;;
      *) env/bin/python "$support/ask.py" "$client" config watch 8 ;;
    esac > said 2> /dev/null
    echo "$client: $(sed 's/^  //' said | paste -sd, | sed 's/,/, /g'); asks for versions $(sed 's/^\.$/none/; s/\.$//' seen | paste -sd, | sed 's/,/, /g')"
  done
done | tee told
diff -u - told <<'EXPECTED' && echo "as told"
an end that is ordinary:
kubernetes: ADDED of version 5, it goes on; asks for versions none, 5
kubernetes_asyncio: ADDED of version 5, it goes on; asks for versions none, 5
lightkube: ADDED of version 5, it goes on; asks for versions none, 5
kr8s: ADDED of version 5, it ends without an error; asks for versions none
pykube: ADDED of version 5, it ends without an error; asks for versions none
client-node: ADDED of version 5, it ends without an error; asks for versions none
an end that is expired:
kubernetes: ADDED of version 5, it goes on; asks for versions none, 5
kubernetes_asyncio: ADDED of version 5, it goes on; asks for versions none, 5
lightkube: ADDED of version 5, ApiError: too old resource version: 5 (60); asks for versions none
kr8s: ADDED of version 5, it goes on; asks for versions none, 5
pykube: ADDED of version 5, ERROR of version None, it ends without an error; asks for versions none
client-node: ADDED of version 5, ERROR of version undefined, it ends without an error; asks for versions none
EXPECTED
