"""An answer as it goes over HTTP."""

import asyncio
import gzip
import re

from aiohttp import web
from multidict import CIMultiDict

from kubeapi.transport import Response

GZIP_FROM_BYTES = 128 * 1024
PIECE_BYTES = 64 * 1024
_WARNINGS = re.compile(r", (?=299 - )")
"""Separator of the values of one `Warning` header; over HTTP each is a header of its own."""


async def render(incoming: web.BaseRequest, answer: Response) -> web.Response:
    """Renders the answer for the library, which writes it in one piece."""
    headers, body = await _form(incoming, answer)
    return web.Response(status=answer.code, body=body, headers=headers)


async def write(incoming: web.BaseRequest, answer: Response) -> web.StreamResponse:
    """Writes the answer in pieces, as the client takes them: over TLS, a piece of any size is taken and kept at
    once."""
    headers, body = await _form(incoming, answer)
    outgoing = web.StreamResponse(status=answer.code, headers=headers)
    outgoing.content_length = len(body)
    await outgoing.prepare(incoming)
    keep_little(incoming)
    await write_pieces(outgoing, body)
    await outgoing.write_eof()
    return outgoing


def keep_little(incoming: web.BaseRequest) -> None:
    """A connection under TLS would keep half a MiB for its client before it lets the writer wait."""
    if isinstance(incoming.transport, asyncio.WriteTransport):
        incoming.transport.set_write_buffer_limits(PIECE_BYTES)


async def write_pieces(outgoing: web.StreamResponse, content: bytes) -> None:
    """Writes so much at a time as may be kept for a client that takes nothing."""
    for start in range(0, len(content), PIECE_BYTES):
        await outgoing.write(content[start : start + PIECE_BYTES])


async def _form(incoming: web.BaseRequest, answer: Response) -> tuple[CIMultiDict[str], bytes]:
    headers = CIMultiDict({"content-type": "application/json"} if answer.body else {})
    headers.update(answer.headers)
    if "warning" in headers:
        headers.extend([("warning", warning) for warning in _WARNINGS.split(headers.pop("warning"))])
    body = answer.body
    if len(body) >= GZIP_FROM_BYTES and "gzip" in incoming.headers.get("accept-encoding", ""):
        body = await asyncio.to_thread(gzip.compress, body, 1)
        headers.update({"content-encoding": "gzip", "vary": "Accept-Encoding"})
    return headers, body
