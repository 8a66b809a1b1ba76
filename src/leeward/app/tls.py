"""The TLS side of a server of the local fleet."""

import ssl
from pathlib import Path


def server_context(certificate: Path, key: Path, client_ca: Path) -> ssl.SSLContext:
    """Shows `certificate`; a client may show one of `client_ca`, and is then known by it. Raises: OSError."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(client_ca))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(certificate, key)
    return context
