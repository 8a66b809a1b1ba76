"""JSON web tokens, as far as service accounts need them: `header.claims.signature`, signed with ES256."""

import base64
import binascii

import msgspec

from kubeapi import codec
from kubeserver.auth.tokens.keys import SigningKey

ALGORITHM = "ES256"
MAX_TOKEN_LENGTH = 16_384


class _Header(msgspec.Struct, frozen=True):
    alg: str = ""
    kid: str = ""


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
    head = codec.encode({"alg": ALGORITHM, "kid": key.key_id})
    signed = f"{_encode(head)}.{_encode(codec.encode(claims))}"
    return f"{signed}.{_encode(key.sign(signed.encode()))}"


def looks_like_token(text: str) -> bool:
    return text.count(".") == 2 and text.startswith("ey")


def parse_token(text: str, key: SigningKey) -> Claims | None:
    """The claims, if `key` signed them; None for anything else."""
    signed, _, signature = text.rpartition(".")
    if len(text) > MAX_TOKEN_LENGTH:
        return None
    try:
        head, claims = map(_decode, signed.split("."))
        header = codec.decode(head, _Header)
        if header.alg != ALGORITHM or not key.verifies(_decode(signature), signed.encode()):
            return None
        return codec.decode(claims, Claims)
    except (ValueError, binascii.Error, codec.DecodeError):
        return None


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
