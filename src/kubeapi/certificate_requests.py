"""Certificate requests (PKCS#10): made by who wants to be known to an API server, and read by who signs them."""

import base64
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a certificate is for, as API servers read it: the common name is the user, organizations are its groups.

    Of several common names it is the last one, as authentication has it: what is approved is who comes in with it.
    """

    user: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """Both in PEM."""

    key: bytes
    request: bytes


def make_request(subject: Subject) -> KeyedRequest:
    """A request with a new key."""
    key = ec.generate_private_key(ec.SECP256R1())
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    name = x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, subject.user)])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyedRequest(encoded, request.public_bytes(serialization.Encoding.PEM))


def subject_of_request(encoded: str) -> Subject | None:
    """Who asks, from `spec.request` (PEM in base64); None when it is no request, or not signed by its own key."""
    try:
        request = x509.load_pem_x509_csr(base64.b64decode(encoded))
        if not request.is_signature_valid:
            return None
        return _subject(request.subject)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def subject_of_certificate(pem: bytes) -> Subject:
    """Raises: ValueError."""
    return _subject(x509.load_pem_x509_certificate(pem).subject)


def _subject(name: x509.Name) -> Subject:
    users = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return Subject(str(users[-1].value) if users else "", tuple(str(group.value) for group in groups))
