"""Headers of the cluster proxy: which of a request reach a member, and which of its answer reach the client.

    client ──▶ member     without what belongs to the connection, then without what says who asks, then as who asks
    member ──▶ client     without what would speak for the control plane: its origin, its cookies, its audit, its place

A member is not trusted with the client: its answer is from the control plane's own address, so that a redirect would
send the client's credential elsewhere (CVE-2022-3172), and a cookie or a policy for an origin would be the control
plane's. Pure functions.
"""

import re
from collections.abc import Mapping

from kubeapi.status import Status
from kubeclient.forwarding import without_hops
from kubeserver.errors import Refused
from kubeserver.handler import ANONYMOUS, User

NOT_MODIFIED, BAD_GATEWAY = 304, 502
_IMPLIED_GROUPS = ("system:authenticated", "system:unauthenticated")
"""The member adds them by itself, and lets nobody claim them."""
_UNAUTHENTICATED = "system:unauthenticated"
_UPGRADE = "upgrade"
_CREDENTIALS = ("authorization", "cookie", "cookie2")
_IDENTITIES = ("impersonate-", "x-remote-", "audit-")
"""Prefixes of headers of those who vouch for somebody to an API server; none of them is the client's to say."""
_CONDITIONS = ("if-none-match", "if-modified-since")
_DROPPED = frozenset(
    (
        *("set-cookie", "set-cookie2", "www-authenticate", "clear-site-data", "service-worker-allowed"),
        *("strict-transport-security", "public-key-pins", "public-key-pins-report-only", "expect-ct"),
        *("location", "refresh", "alt-svc", "report-to", "reporting-endpoints", "nel", "origin-agent-cluster"),
        *("timing-allow-origin", "content-security-policy", "content-security-policy-report-only", "sourcemap"),
    )
)
_DROPPED_FAMILIES = ("access-control-", "audit-", "cross-origin-", "impersonate-", "x-remote-")
PAGE_RULES = {"content-security-policy": "sandbox allow-scripts allow-forms", "x-content-type-options": "nosniff"}
"""Headers for browsers: a page of a member is no page of the control plane."""
_NOT_IN_A_HEADER = re.compile(r"^\s|\s$|[\x00-\x1f\x7f]")


def headers_to_member(headers: Mapping[str, str], user: User) -> dict[str, str]:
    """Raises: Refused where it is nobody who asks, or somebody whose name no header can say."""
    upgrade = headers.get(_UPGRADE, "")
    sent = without_hops(headers).items()
    kept = {name: value for name, value in sent if not (name in _CREDENTIALS or name.startswith(_IDENTITIES))}
    return {**kept, **({_UPGRADE: upgrade} if upgrade else {}), **_identity(user)}


def headers_to_client(headers: Mapping[str, str]) -> dict[str, str]:
    kept = {name.lower(): value for name, value in headers.items()}
    return {k: v for k, v in kept.items() if k not in _DROPPED and not k.startswith(_DROPPED_FAMILIES)}


def code_fault(code: int, asked: Mapping[str, str]) -> str:
    """The reason why an answer of `code` is not passed on, to who asked with these headers; empty when it is."""
    if code == NOT_MODIFIED and any(name in asked for name in _CONDITIONS):
        return ""
    if 300 <= code < 400:
        return f"has answered with a redirect (HTTP {code}), which is not passed on: it could lead anywhere"
    return "" if 200 <= code < 600 else f"has answered with HTTP {code}, which is no final answer"


def bad_gateway(message: str) -> Refused:
    return Refused(Status(message=message, reason="BadGateway", code=BAD_GATEWAY))


def _identity(user: User) -> dict[str, str]:
    """Last of all, so that nothing in the request takes it away. Raises: Refused."""
    if not user.name or user.name == ANONYMOUS.name or _UNAUTHENTICATED in user.groups:
        raise _forbidden("nobody goes to a member through the proxy whom the control plane has not authenticated")
    groups = [group for group in user.groups if group not in _IMPLIED_GROUPS]
    for what, text in (("name", user.name), *(("group", group) for group in groups)):
        if not text or _NOT_IN_A_HEADER.search(text):
            raise _forbidden(f"the {what} {text!r} of the user cannot be told to a member: no header can hold it")
    named = {"impersonate-group": "\n".join(groups)} if groups else {}
    return {"impersonate-user": user.name, **named}


def _forbidden(message: str) -> Refused:
    return Refused(Status(message=message, reason="Forbidden", code=403))
