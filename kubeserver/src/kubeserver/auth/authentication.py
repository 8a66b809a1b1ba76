"""Authentication of who asks: a verified client certificate, or a bearer token: from a table, or one that an issuer
knows.

A certificate's common name is the user and its organizations are the groups. Tokens are kept as digests, so that no
lookup takes longer for a better guess, and so that none can appear in a `repr`, a log or an error.

Never verifies a certificate: TLS has done that, with the client CA of the server's context.
"""

import csv
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from kubeapi.transport import Request
from kubeserver.handler import ANONYMOUS, User

AUTHENTICATED_GROUP = "system:authenticated"


class BadCredential(Exception):
    """A credential was shown, and it is nobody's."""


class TokenIssuer(Protocol):
    def authenticate(self, token: str) -> User | None:
        """User whose token it is; None when it is not one of this issuer's, or no longer good."""
        ...


class Authenticator:
    """Knows users by certificate, or by token; `issuers` are asked in turn for tokens that `tokens` has not."""

    def __init__(self, tokens: Mapping[str, User] | None = None, issuers: Sequence[TokenIssuer] = ()) -> None:
        self._users = {_digest(token): _authenticated(user) for token, user in (tokens or {}).items()}
        self._issuers = issuers

    def authenticate(self, request: Request, certificate: Mapping[str, Any] | None) -> User:
        """The user of a request; `certificate` is the verified one of the peer, as `ssl.SSLSocket.getpeercert` has it.

        ANONYMOUS when no credential was shown. Raises: BadCredential.
        """
        user = _user_of_certificate(certificate) if certificate else None
        if user is not None:
            return user
        token = bearer_token(request.headers.get("authorization", ""))
        return self._user_of_token(token) if token else ANONYMOUS

    def _user_of_token(self, token: str) -> User:
        user = self.known_user(token)
        if user is None:
            raise BadCredential("the bearer token is unknown")
        return user

    def known_user(self, token: str) -> User | None:
        """User whose token it is; None when it is nobody's."""
        user = self._users.get(_digest(token))
        if user is not None:
            return user
        return next((found for issuer in self._issuers if (found := issuer.authenticate(token)) is not None), None)


def load_token_file(path: Path) -> dict[str, User]:
    """Reads kube-apiserver's form: `token,user,uid` and optionally `"group1,group2"`, one line per token.

    Raises: ValueError, which names the line and never the token.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return _read_tokens(path, csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"token file {path}: {error}") from error


def _read_tokens(path: Path, rows: Iterable[list[str]]) -> dict[str, User]:
    users: dict[str, User] = {}
    for line, row in enumerate(rows, 1):
        if not row:
            continue
        token, user = _read_row(f"token file {path}, line {line}", [cell.strip() for cell in row])
        if token in users:
            raise ValueError(f"token file {path}, line {line}: the token is there twice")
        users[token] = user
    return users


def _read_row(place: str, row: list[str]) -> tuple[str, User]:
    if len(row) < 3:
        raise ValueError(f'{place}: has {len(row)} columns; it takes token,user,uid and optionally "group1,group2"')
    token, name, uid, *rest = row
    for field, value in (("token", token), ("user", name)):
        if not value:
            raise ValueError(f"{place}: the {field} is empty")
    groups = tuple(group.strip() for group in rest[0].split(",") if group.strip()) if rest else ()
    return token, User(name, groups, uid)


def _user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """None when the certificate names nobody, as in kube-apiserver."""
    attributes: list[tuple[str, str]] = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for key, value in attributes if key == "commonName"]
    groups = tuple(value for key, value in attributes if key == "organizationName")
    return _authenticated(User(names[-1], groups)) if names and names[-1] else None


def _authenticated(user: User) -> User:
    if AUTHENTICATED_GROUP in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED_GROUP))


def bearer_token(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
