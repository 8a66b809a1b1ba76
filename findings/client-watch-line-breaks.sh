#!/usr/bin/env bash
# Question: an annotation has the character U+0085 (next line), which a text from a mainframe or a terminal has; what becomes
#   of the watch of such an object? API servers write the character as it is.
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm).
# One would guess: an event like others. The events of a watch end with a newline, and JSON has no other line ends.
# What is: lightkube and kr8s part the event at that character, and their watch ends with an error of their JSON reader.
source "$(dirname "$0")/support/clients.sh"
cat > breaking.py <<'SERVER'
import json
import time

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "watch")
META = {"name": "a", "namespace": "default", "uid": "a", "resourceVersion": "5"}
META["annotations"] = {"said": "first\u0085second"}
OBJECT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": META}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if not path.endswith("/configmaps"):
            return self.say(ANSWERS[path.rstrip("/")])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        line = json.dumps({"type": "ADDED", "object": OBJECT}, ensure_ascii=False).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        time.sleep(20)
        self.wfile.write(b"0\r\n\r\n")


serve(Handler)
SERVER
program=$PWD/breaking.py
install kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
kubeconfig "token: t"
for client in "${clients[@]}"; do
  case $client in
    client-node) node "$support/ask.mjs" config watch 6 ;;
    *) env/bin/python "$support/ask.py" "$client" config watch 6 ;;
  esac > said 2> log
  echo "$client: $(sed 's/^  //; s/Error:.*/Error/' said | paste -sd, | sed 's/,/, /g')"
done | tee told
diff -u - told <<'EXPECTED' && echo "as told"
kubernetes: ADDED of version 5, it goes on
kubernetes_asyncio: ADDED of version 5, it goes on
lightkube: DecodeError
kr8s: JSONDecodeError
pykube: ADDED of version 5, it goes on
client-node: ADDED of version 5, it goes on
EXPECTED
