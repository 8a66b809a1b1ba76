#!/usr/bin/env bash
# Question: does a reader that pauses get all bytes that came over TLS before its peer closed the connection?
# Versions: uvloop 0.23.0, trustme 1.2.1 (PyPI); Python's own loop beside it.
# One would guess: yes. What has arrived is handed over before the end is told, as on a plain connection.
# What is: asyncio hands all over, with and without the peer's closing alert. uvloop drops what it has received and not handed
#   over, and tells the end as an orderly one: the reader sees a shorter answer and no error. A kube-apiserver ends a
#   `kubectl exec` over a WebSocket right after its last byte, so a proxy on uvloop whose client is slow cuts the output.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq uvloop==0.23.0 trustme==1.2.1

cat > read.py <<'READ'
import asyncio
import socket
import ssl
import sys
import threading

import trustme
import uvloop

SIZE = 700_000
loop, ending = sys.argv[1:]
authority = trustme.CA()
serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
authority.issue_cert("127.0.0.1").configure_cert(serving)
authority.configure_trust(asking)


def answer(listener: socket.socket) -> None:
    accepted, _ = listener.accept()
    with serving.wrap_socket(accepted, server_side=True) as connection:
        connection.recv(10)
        connection.sendall(b"x" * SIZE)
        if ending == "alert":
            connection.settimeout(0.2)
            try:
                connection.unwrap()
            except OSError:
                pass


async def read() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = threading.Thread(target=answer, args=(listener,))
    server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.getsockname()[1], ssl=asking, limit=200_000)
    writer.write(b"ask")
    size = len(await reader.read(1000))
    await asyncio.to_thread(server.join)
    await asyncio.sleep(0.3)
    while data := await reader.read(65_536):
        size += len(data)
    print(loop, ending, "all" if size == SIZE else "some are missing", "no error", sep=", ")
    writer.transport.abort()


with asyncio.Runner(loop_factory={"uvloop": uvloop, "asyncio": asyncio}[loop].new_event_loop) as runner:
    runner.run(read())
READ

for loop in asyncio uvloop; do
  for ending in alert none; do
    timeout 30 env/bin/python read.py "$loop" "$ending"
  done
done > seen 2> errors || { cat errors; exit 1; }

diff -u - seen <<'EXPECTED' && echo "as told"
asyncio, alert, all, no error
asyncio, none, all, no error
uvloop, alert, some are missing, no error
uvloop, none, some are missing, no error
EXPECTED
