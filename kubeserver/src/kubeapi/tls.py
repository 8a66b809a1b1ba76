"""TLS contexts: the side of a server, and pairs of certificate and key that are not in files."""

import os
import ssl
import tempfile
from pathlib import Path


def server_context(client_ca: Path | None = None, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    """A context for a server, which shows `pair`, its certificate and key; TLS 1.2 and later.

    With `client_ca`, a client may show a certificate of it, and is then known by it. Raises: OSError.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_NONE if client_ca is None else ssl.CERT_OPTIONAL
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Shows this pair (PEM) in new connections. Raises: ssl.SSLError.

    The ssl module reads it from a file only: one that is for its owner alone, and gone at once.
    """
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)


def blames_a_certificate(error: BaseException | None) -> bool:
    """Tells whether TLS failed over a certificate, ours or theirs; a handshake that was cut off is no such case."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        if isinstance(error, ssl.SSLError):
            reason = str(getattr(error, "reason", None))
            return "CERTIFICATE" in reason or "UNKNOWN_CA" in reason
        error = error.__cause__ or error.__context__
    return False
