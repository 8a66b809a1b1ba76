"""Guard of all requests and answers: which hosts we answer for, what a change must bring, and the headers of an answer.

A page of somebody else can make a browser send requests here. It can neither name a host that is ours (its own name
may lead to this address: DNS rebinding), nor send JSON or the header of a session without being asked first.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
SAFE_METHODS = ("GET", "HEAD")
CHANGED_BY = "application/json"
"""Content type of requests that change something: a form of another page cannot send it."""


def guard(allowed_hosts: Collection[str]) -> Middleware:
    """A middleware. `allowed_hosts` are the names beside addresses and `localhost` that a request may name."""
    names = {"localhost", *(name.lower() for name in allowed_hosts)}

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_our_host(request.host, names):
            raise web.HTTPMisdirectedRequest(
                text=f"this is not {request.host!r}: start `leeward dashboard` with --allowed-host for a name of yours"
            )
        if request.method not in SAFE_METHODS and (problem := problem_of_change(request)):
            raise web.HTTPForbidden(text=problem)
        return await handler(request)

    return middleware


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Adds the headers that every answer has, also one that says no."""
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.pop("Server", None)


def is_our_host(host: str, names: Collection[str]) -> bool:
    """An address is never another site's name; of names only ours."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in names
    return True


def problem_of_change(request: web.Request) -> str:
    """Reason for which a request that changes something is not from a page of ours; empty where it may be."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return "the request comes from another site"
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
        return "the request comes from another origin"
    if request.can_read_body and request.content_type != CHANGED_BY:
        return f"the content type must be {CHANGED_BY}"
    return ""
