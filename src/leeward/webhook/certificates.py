"""Certificates of our own servers: an authority that lives long, and a serving certificate that is renewed in time.

Both lie in one Secret of type `kubernetes.io/tls` that all replicas share. Pure functions of that Secret's data and of
`now`; who reads and writes it is `leeward.webhook.serving`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cryptography import x509

from kubeapi.certificates import Issuer, Usage, certificate_pem, key_pem, lasts, new_key, subject_name

CA, CA_KEY, CERTIFICATE, KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
AUTHORITY_LIFETIME, LIFETIME = timedelta(days=3650), timedelta(days=90)
RENEW_AUTHORITY_BEFORE, RENEW_BEFORE = timedelta(days=365), timedelta(days=30)
NAME = "leeward-webhook"


def renewed(
    data: Mapping[str, bytes], hosts: Sequence[str], now: datetime, name: str = NAME
) -> dict[str, bytes] | None:
    """The data that the Secret is to have, or None when what it has lasts and names all `hosts`.

    A new authority stands before the old one in `ca.crt`, so that what was signed by either is trusted.
    """
    issuer = _issuer(data, now)
    if issuer is None:
        issuer = Issuer.self_signed(f"{name}-ca", now, AUTHORITY_LIFETIME)
        data = {CA: certificate_pem(issuer.certificate) + _first(data.get(CA, b"")), CA_KEY: key_pem(issuer.key)}
    elif _lasts(data.get(CERTIFICATE, b""), now, RENEW_BEFORE) and _hosts(data[CERTIFICATE]) == set(hosts):
        return None
    key = new_key()
    certificate = issuer.issue(subject_name(name), key.public_key(), Usage.SERVER, now, LIFETIME, hosts)
    return {CA: data[CA], CA_KEY: data[CA_KEY], CERTIFICATE: certificate_pem(certificate), KEY: key_pem(key)}


def _issuer(data: Mapping[str, bytes], now: datetime) -> Issuer | None:
    """None where there is none that lasts, or that can be read."""
    try:
        issuer = Issuer.of_pem(data.get(CA, b""), data.get(CA_KEY, b""))
    except ValueError:
        return None
    return issuer if lasts(issuer.certificate, now, RENEW_AUTHORITY_BEFORE) else None


def renew_at(data: Mapping[str, bytes]) -> datetime:
    """Instant at which `renewed` will next have something to do."""
    return min(
        x509.load_pem_x509_certificate(data[CERTIFICATE]).not_valid_after_utc - RENEW_BEFORE,
        x509.load_pem_x509_certificate(data[CA]).not_valid_after_utc - RENEW_AUTHORITY_BEFORE,
    )


def _lasts(pem: bytes, now: datetime, before: timedelta) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return False
    return lasts(certificate, now, before)


def _hosts(pem: bytes) -> set[str]:
    extension = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(name.value) for name in extension.value}


def _first(pem: bytes) -> bytes:
    """The first certificate of a bundle, or nothing."""
    try:
        return certificate_pem(x509.load_pem_x509_certificate(pem))
    except ValueError:
        return b""
