"""Certificate requests (PKCS#10): made by who wants to be known to an API server, and read by who signs them."""

import base64
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from kubeapi.certificates import key_pem, new_key, subject_name


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a certificate, as API servers read it: the common name is the user, organizations are its groups.

    Of several common names it is the last one, as authentication has it: what is approved is who comes in with it.
    """

    user: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """Key and request, both in PEM."""

    key: bytes
    request: bytes


def make_request(subject: Subject) -> KeyedRequest:
    """A request with a new key."""
    key, name = new_key(), subject_name(subject.user, subject.groups)
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return KeyedRequest(key_pem(key), request.public_bytes(serialization.Encoding.PEM))


def subject_of_request(encoded: str) -> Subject | None:
    """Subject who asks, from `spec.request` (PEM in base64); None when it is no request, or not signed by its own
    key."""
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
