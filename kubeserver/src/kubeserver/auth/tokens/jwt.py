"""JSON web tokens of service accounts: `header.claims.signature`, signed with ES256.

PyJWT signs and verifies; what the claims mean, and until when, is asked elsewhere, with our own clock.
"""

import msgspec
from jwt import InvalidTokenError, PyJWS

from kubeapi import codec
from kubeserver.auth.tokens.keys import SigningKey

ALGORITHM = "ES256"
MAX_TOKEN_LENGTH = 16_384
_SIGNATURES = PyJWS(algorithms=[ALGORITHM])


class Reference(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    uid: str = ""


class Kubernetes(msgspec.Struct, frozen=True, omit_defaults=True):
    """The claim `kubernetes.io`: the account, and the object with which the token ends."""

    namespace: str
    serviceaccount: Reference
    pod: Reference | None = None
    secret: Reference | None = None


class Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    """Times are seconds since 1970."""

    aud: tuple[str, ...]
    exp: int
    iat: int
    iss: str
    jti: str
    nbf: int
    sub: str
    kubernetes: Kubernetes = msgspec.field(name="kubernetes.io")


def render_token(claims: Claims, key: SigningKey) -> str:
    return _SIGNATURES.encode(codec.encode(claims), key.private, ALGORITHM, {"typ": "", "kid": key.key_id})


def looks_like_token(text: str) -> bool:
    return text.count(".") == 2 and text.startswith("ey")


def parse_token(text: str, key: SigningKey) -> Claims | None:
    """The claims, if `key` signed them; None for anything else."""
    if len(text) > MAX_TOKEN_LENGTH:
        return None
    try:
        return codec.decode(_SIGNATURES.decode(text, key.public, [ALGORITHM]), Claims)
    except (InvalidTokenError, codec.DecodeError):
        return None
