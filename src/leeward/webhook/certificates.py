"""The webhook's own certificates: an authority that lives long, and a serving certificate that is renewed in time.

Both lie in one Secret of type `kubernetes.io/tls` that all replicas share. Pure functions of that Secret's data and of
`now`; who reads and writes it is `leeward.webhook.serving`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA, CA_KEY, CERTIFICATE, KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
AUTHORITY_LIFETIME, LIFETIME = timedelta(days=3650), timedelta(days=90)
RENEW_AUTHORITY_BEFORE, RENEW_BEFORE = timedelta(days=365), timedelta(days=30)
CLOCK_SKEW = timedelta(minutes=5)


def renewed(data: Mapping[str, bytes], hosts: Sequence[str], now: datetime) -> dict[str, bytes] | None:
    """The data that the Secret is to have, or None when what it has lasts and names all `hosts`.

    A new authority stands before the old one in `ca.crt`, so that what was signed by either is trusted.
    """
    if not _lasts(data.get(CA, b""), now, RENEW_AUTHORITY_BEFORE) or not data.get(CA_KEY):
        key = ec.generate_private_key(ec.SECP256R1())
        data = {CA: _authority(key, now) + _first(data.get(CA, b"")), CA_KEY: _pem(key)}
    elif _lasts(data.get(CERTIFICATE, b""), now, RENEW_BEFORE) and _hosts(data[CERTIFICATE]) == set(hosts):
        return None
    certificate, key = _issue(data[CA], data[CA_KEY], hosts, now)
    return {CA: data[CA], CA_KEY: data[CA_KEY], CERTIFICATE: certificate, KEY: key}


def renew_at(data: Mapping[str, bytes]) -> datetime:
    """When `renewed` will next have something to do."""
    return min(
        x509.load_pem_x509_certificate(data[CERTIFICATE]).not_valid_after_utc - RENEW_BEFORE,
        x509.load_pem_x509_certificate(data[CA]).not_valid_after_utc - RENEW_AUTHORITY_BEFORE,
    )


def _lasts(pem: bytes, now: datetime, before: timedelta) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return False
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - before


def _hosts(pem: bytes) -> set[str]:
    extension = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(name.value) for name in extension.value}


def _first(pem: bytes) -> bytes:
    """The first certificate of a bundle, or nothing."""
    try:
        return x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.PEM)
    except ValueError:
        return b""


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leeward-webhook-ca")])
    builder = (
        _builder(name, name, key, now, AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _issue(ca: bytes, ca_key: bytes, hosts: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    authority = x509.load_pem_x509_certificate(ca)
    signer = serialization.load_pem_private_key(ca_key, password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leeward-webhook")])
    builder = (
        _builder(subject, authority.subject, key, now, LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
    )
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _pem(key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - CLOCK_SKEW,
        not_valid_after=now + lifetime,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
