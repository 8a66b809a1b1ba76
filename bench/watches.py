"""Memory that the watches of one user take, and the part that comes back: 1,500 are asked for, over 10,000 objects.

The attacker reads the head of each answer, and then nothing; in the second round, as much as comes within some seconds.
Then all connections are cut at once. Figures are of the server's process: MiB before, at the most, and after.
"""

import asyncio
import ssl
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from bench.servers import TOKEN, Target, leeward
from kubeapi.core import CONFIG_MAPS
from kubeapi.meta import Manifest
from kubeclient import Client

OBJECTS, OBJECT_BYTES, WATCHES = 10_000, 2_000, 1_500
CREATORS, AT_ONCE = 16, 50
HEAD_SECONDS, READING_SECONDS = 120.0, 20.0
REST_SECONDS = (5, 10, 15)
MiB = 1024 * 1024
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _fill(client: Client) -> None:
    numbers = iter(range(OBJECTS))

    async def create() -> None:
        for number in numbers:
            made: Manifest = {"metadata": {"name": f"c{number}"}, "data": {"a": "x" * OBJECT_BYTES}}
            await client.create(CONFIG_MAPS, made, "default")

    await asyncio.gather(*(create() for _ in range(CREATORS)))


async def _watch(target: Target, context: ssl.SSLContext) -> tuple[Connection, str]:
    """A watch of which only the head is read, with the code of its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port, ssl=context)
    head = f"GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    writer.write(head.encode())
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            return (reader, writer), (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
    except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
        return (reader, writer), type(error).__name__


async def _read(connection: Connection) -> None:
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(READING_SECONDS):
            while await connection[0].read(65_536):
                pass


async def _attack(target: Target, *, reads: bool) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    before = most = target.memory_bytes()
    opened: list[Connection] = []
    codes: Counter[str] = Counter()
    for _ in range(WATCHES // AT_ONCE):
        for connection, code in await asyncio.gather(*(_watch(target, context) for _ in range(AT_ONCE))):
            opened.append(connection)
            codes[code] += 1
        most = max(most, target.memory_bytes())
    if reads:
        await asyncio.gather(*map(_read, opened))
    most = max(most, target.memory_bytes())
    for _, writer in opened:
        writer.transport.abort()
    after: list[int] = []
    for seconds in REST_SECONDS:
        await asyncio.sleep(seconds)
        after.append(target.memory_bytes() // MiB)
    what = "and read" if reads else "unread"
    print(f"{WATCHES} watches {what}: {dict(codes)}, {before // MiB} MiB before, {most // MiB} at most, then {after}")


async def _measure() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with leeward(Path(directory)) as target:
            client = target.client()
            await _fill(client)
            await client.close()
            for reads in (False, True):
                await _attack(target, reads=reads)


def run() -> None:
    asyncio.run(_measure())
