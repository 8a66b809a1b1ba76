#!/usr/bin/env bash
# Question: haproxy tells a server behind it the client's address by a PROXY header; do libraries read what it sends?
# Versions: haproxy 2.6.12 (Debian 12), proxy-protocol 0.11.3 (PyPI), proxy-protocol-js 4.0.6, @balena/proxy-protocol-parser
#   1.0.2 (npm).
# One would guess: yes, also with a checksum and an id of the connection in the header, and for a client by a Unix socket.
# What is: proxy-protocol-js puts checksum and id before the bytes of the client, as if it had sent them. It refuses `PROXY
#   UNKNOWN` of the older form, of which balena's makes an address of IPv6.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
proxy=
trap '[[ -z $proxy ]] || kill "$proxy"; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" haproxy=2.6.12-1+deb12u4
python3 -m venv env
env/bin/pip install -qq proxy-protocol==0.11.3
echo '{}' > package.json
npm install --silent --no-audit --no-fund proxy-protocol-js@4.0.6 @balena/proxy-protocol-parser@1.0.2
read -r -a ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(one.getsockname()[1] for one in held))')
cat > config <<CONFIG
defaults
  mode tcp
  timeout connect 5s
  timeout client 5s
  timeout server 5s
  unique-id-format id
frontend first
  bind 127.0.0.1:${ports[1]}
  bind $work/first.sock
  default_backend first
frontend second
  bind 127.0.0.1:${ports[2]}
  bind $work/second.sock
  default_backend second
backend first
  server app 127.0.0.1:${ports[0]} send-proxy
backend second
  server app 127.0.0.1:${ports[0]} send-proxy-v2 proxy-v2-options crc32c,unique-id
CONFIG
cat > take.py <<'TAKE'
"""Sends `hello` by the address that is named, and prints in hexadecimal what comes out behind the proxy."""

import socket
import sys
import time

app = socket.create_server(("127.0.0.1", int(sys.argv[1])))
app.settimeout(10)
place = sys.argv[2]
for _ in range(100):
    try:
        if place.isdecimal():
            client = socket.create_connection(("127.0.0.1", int(place)))
        else:
            client = socket.socket(socket.AF_UNIX)
            client.connect(place)
        break
    except OSError:
        time.sleep(0.1)
client.sendall(b"hello")
connection, _ = app.accept()
connection.settimeout(10)
got = b""
while not got.endswith(b"hello"):
    got += connection.recv(4096)
print(got.hex())
TAKE
cat > by_python.py <<'PYTHON'
import asyncio
import sys

from proxyprotocol.detect import ProxyProtocolDetect
from proxyprotocol.reader import ProxyProtocolReader


async def read() -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(bytes.fromhex(sys.argv[1]))
    stream.feed_eof()
    result = await ProxyProtocolReader(ProxyProtocolDetect()).read(stream)
    source = result.source[0] if result.source else "no client"
    print(f"  proxy-protocol: {source}, and {len(await stream.read())} bytes")


asyncio.run(read())
PYTHON
cat > by_node.cjs <<'NODE'
const bytes = Buffer.from(process.argv[2], "hex");
const { V1ProxyProtocol, V2ProxyProtocol } = require("proxy-protocol-js");
const tell = (name, read) => {
  try {
    console.log(`  ${name}: ${read()}`);
  } catch {
    console.log(`  ${name}: refused`);
  }
};
tell("proxy-protocol-js", () => {
  if (bytes.toString("latin1").startsWith("PROXY")) {
    const { source, data } = V1ProxyProtocol.parse(bytes.toString("latin1"));
    return `${source.ipAddress}, and ${data.length} bytes`;
  }
  const { proxyAddress, data } = V2ProxyProtocol.parse(bytes);
  return `${proxyAddress.sourceAddress?.address.join(".") ?? "no client"}, and ${data.length} bytes`;
});
tell("balena", () => {
  const { remoteFamily, remoteAddress } = require("@balena/proxy-protocol-parser").decode(bytes);
  return remoteFamily ? `${remoteFamily} ${JSON.stringify(remoteAddress)}` : "no client";
});
NODE
start root sbin/haproxy -db -f config > log 2>&1 &
proxy=$!
# told TITLE PLACE: what each reads of a connection by that place, on which the client sends five bytes.
told() {
  echo "$1"
  local bytes
  bytes=$(python3 take.py "${ports[0]}" "$2")
  env/bin/python by_python.py "$bytes"
  node by_node.cjs "$bytes"
}
{
  told "version 1, from 127.0.0.1" "${ports[1]}"
  told "version 1, from a Unix socket" first.sock
  told "version 2, from 127.0.0.1" "${ports[2]}"
  told "version 2, from a Unix socket" second.sock
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
version 1, from 127.0.0.1
  proxy-protocol: 127.0.0.1, and 5 bytes
  proxy-protocol-js: 127.0.0.1, and 5 bytes
  balena: IPv4 "127.0.0.1"
version 1, from a Unix socket
  proxy-protocol: no client, and 5 bytes
  proxy-protocol-js: refused
  balena: IPv6 "\r\n"
version 2, from 127.0.0.1
  proxy-protocol: 127.0.0.1, and 5 bytes
  proxy-protocol-js: 127.0.0.1, and 17 bytes
  balena: IPv4 "127.0.0.1"
version 2, from a Unix socket
  proxy-protocol: no client, and 5 bytes
  proxy-protocol-js: no client, and 17 bytes
  balena: no client
EXPECTED
