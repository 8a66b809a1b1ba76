#!/usr/bin/env bash
# Question: HTTPS_PROXY names a proxy, and NO_PROXY the network of the API server, such as `127.0.0.0/8`; who asks whom?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm), golang-1.19 1.19.8 (Debian 12).
# One would guess: all ask the server itself where NO_PROXY names its network, as programs in Go do, and else the proxy.
# What is: kubernetes_asyncio and kr8s read no networks there, and send the request to the proxy. With `host:port` pykube
#   does so, too. client-node never asks a proxy of the environment.
program=$(mktemp)
cat > "$program" <<'SERVER'
import threading

from serving import JsonHandler, Server, core_with, serve

EMPTY = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
ANSWERS = core_with("namespaces", "Namespace", False, "list")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        self.see("the server itself")
        self.say(ANSWERS.get(self.path.partition("?")[0].rstrip("/"), EMPTY))


class Proxy(JsonHandler):
    def do_CONNECT(self) -> None:
        self.see("the proxy")
        self.send_error(502)


proxy = Server(("127.0.0.1", 0), Proxy)
threading.Thread(target=proxy.serve_forever, daemon=True).start()
with open("proxy_port", "w") as port:
    port.write(str(proxy.server_port))
serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
source "$support/debian.sh"
trap '[[ -z $server ]] || kill "$server"; chmod -R u+w "$work"; rm -rf "$work"' EXIT
install kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
kubeconfig "token: secret"
debian "$work/root" golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2
cat > main.go <<'MAIN'
package main

import (
	"fmt"
	"net/http"
	"net/url"
)

func main() {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: "10.1.2.3:6443"}})
	if err == nil && proxy == nil {
		fmt.Println("Go: the server itself")
	} else {
		fmt.Println("Go: the proxy")
	}
}
MAIN
GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/go GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 GOFLAGS= HOME=$work \
  root/usr/lib/go-1.19/bin/go build -o for_go main.go

# with NO_PROXY NO_PROXY_OF_GO: Go never sends what is for this machine to a proxy, so that it is asked of another address.
with() {
  echo "NO_PROXY is ${1:-empty}"
  HTTPS_PROXY=http://127.0.0.1:$(cat proxy_port) NO_PROXY=$2 ./for_go | sed 's/^/  /'
  HTTPS_PROXY=http://127.0.0.1:$(cat proxy_port) NO_PROXY=${1/PORT/$(cat port)} answers | sed 's/^/  /'
}
{
  with "" ""
  with 127.0.0.1 10.1.2.3
  with 127.0.0.0/8 10.0.0.0/8
  with 127.0.0.1:PORT 10.1.2.3:6443
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
NO_PROXY is empty
  Go: the proxy
  kubernetes: the proxy
  kubernetes_asyncio: the proxy
  lightkube: the proxy
  kr8s: the proxy
  pykube: the proxy
  client-node: the server itself
NO_PROXY is 127.0.0.1
  Go: the server itself
  kubernetes: the server itself
  kubernetes_asyncio: the server itself
  lightkube: the server itself
  kr8s: the server itself
  pykube: the server itself
  client-node: the server itself
NO_PROXY is 127.0.0.0/8
  Go: the server itself
  kubernetes: the server itself
  kubernetes_asyncio: the proxy
  lightkube: the server itself
  kr8s: the proxy
  pykube: the server itself
  client-node: the server itself
NO_PROXY is 127.0.0.1:PORT
  Go: the server itself
  kubernetes: the server itself
  kubernetes_asyncio: the proxy
  lightkube: the server itself
  kr8s: the server itself
  pykube: the proxy
  client-node: the server itself
EXPECTED
