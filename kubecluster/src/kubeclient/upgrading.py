"""Connections that stop to be HTTP: after `101 Switching Protocols` they are bytes, both ways.

    GET ...exec  Upgrade: SPDY/3.1 ──▶            kubectl exec, attach, cp and port-forward of older clients
                                   ◀── 101

Nothing is known here of what the bytes mean. A server that does not agree has answered in ordinary HTTP, which is left
to be asked for in the ordinary way.
"""

import asyncio
import base64
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from yarl import URL

from kubeapi.errors import Unreachable
from kubeclient.resolving import JudgesAddresses, is_of_the_address, judged_addresses, more_telling

AHEAD_BYTES = 1024 * 1024
"""Bytes that are read ahead of whoever takes them, at most twice as many (`asyncio.StreamReader`).

A kube-apiserver ends an exec right after its last byte. On TLS, uvloop (0.23) then drops the bytes that it has received
and does not hand over, since reading is paused; asyncio's own loop hands them over.
"""
CHUNK_BYTES = 64 * 1024
_SWITCHING, _TUNNELLED = "101", "200"
_ENDS = re.compile("[\r\n\0]")


@dataclass(frozen=True, slots=True)
class Upgraded:
    """`headers` are those of the answer. `chunks` must be closed, which ends the connection."""

    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Raises: Unreachable."""
        try:
            self.writer.write(data)
            await self.writer.drain()
        except OSError as error:
            raise Unreachable(str(error)) from error


async def upgrade(
    url: URL,
    headers: list[tuple[str, str]],
    tls: ssl.SSLContext | None,
    method: str,
    addresses: JudgesAddresses | None = None,
    proxy: URL | None = None,
    server_name: str = "",
) -> Upgraded | None:
    """None where the server does not agree. `proxy` is one that tunnels by CONNECT, `server_name` that of the
    server's certificate where the URL has another. Raises: OSError, ssl.SSLError,
    ForbiddenAddress; ValueError for headers that would be more than one line.

    Whoever calls bounds the time that it takes.
    """
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {address_of(url)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if any(_ENDS.search(line) for line in lines):
        raise ValueError("a header holds the end of a line")
    if proxy is None:
        reader, writer = await _connect(url, tls, addresses, server_name)
    else:
        reader, writer = await _tunnel(proxy, url, tls, addresses, server_name)
    head = await _ask(reader, writer, lines)
    if head[0].split(" ")[1:2] != [_SWITCHING]:
        writer.transport.abort()
        return None
    if any(_ENDS.search(line) for line in head):
        writer.transport.abort()
        raise ConnectionResetError("the server's answer has no head of HTTP")
    return Upgraded(_parsed(head[1:]), _chunks(reader, writer), writer)


def address_of(url: URL) -> str:
    """Host and port as a request names them: an IPv6 address in brackets (RFC 3986, 3.2.2)."""
    return f"{url.host_subcomponent}:{url.port}"


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lines: list[str]) -> list[str]:
    """Lines of the answer's head. Raises: OSError."""
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode())
        await writer.drain()
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.transport.abort()
        raise ConnectionResetError(str(error)) from error
    except BaseException:
        writer.transport.abort()
        raise


async def _tunnel(
    proxy: URL, url: URL, tls: ssl.SSLContext | None, rules: JudgesAddresses | None, server_name: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the server through the proxy (RFC 9110, 9.3.6), which is trusted by the authority of the server, as
    Kubernetes' own clients do. Raises: OSError, ssl.SSLError, ForbiddenAddress."""
    trusted = (tls or ssl.create_default_context()) if proxy.scheme == "https" else None
    reader, writer = await _connect(proxy, trusted, rules, "")
    server = address_of(url)
    lines = [f"CONNECT {server} HTTP/1.1", f"Host: {server}"]
    if proxy.user is not None:
        credential = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {credential}")
    first, *_ = await _ask(reader, writer, lines)
    if first.split(" ")[1:2] != [_TUNNELLED]:
        writer.transport.abort()
        raise ConnectionResetError(f"the proxy opens no way to {server}: {first[:100]}")
    if tls is not None:
        try:
            await writer.start_tls(tls, server_hostname=server_name or url.host)
        except BaseException:
            writer.transport.abort()
            raise
    return reader, writer


async def _connect(
    url: URL, tls: ssl.SSLContext | None, rules: JudgesAddresses | None, server_name: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the first address of the host that answers. Raises: OSError, ssl.SSLError, ForbiddenAddress."""
    host, port = url.host or "", url.port or 0
    failed: OSError | None = None
    for address in await judged_addresses(rules, host, port):
        try:
            return await asyncio.open_connection(
                address,
                port,
                ssl=tls,
                server_hostname=(server_name or host) if tls is not None else None,
                limit=AHEAD_BYTES,
            )
        except OSError as error:
            if not is_of_the_address(error):
                raise
            failed = more_telling(failed, error)
    raise failed or OSError(f"{host} has no address")


def _parsed(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncGenerator[bytes, None]:
    try:
        while data := await reader.read(CHUNK_BYTES):
            yield data
    except OSError as error:
        raise Unreachable(str(error)) from error
    finally:
        writer.transport.abort()
