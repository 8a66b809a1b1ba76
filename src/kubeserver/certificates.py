"""A certificate authority in a directory, and the pairs that it issues.

Pairs are kept over restarts and made anew when they are missing, foreign, or within 30 days of their end. Private keys
are mode 0600 from their first byte on.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeapi.files import write_file

AUTHORITY = "ca"
"""Name of the authority's own pair."""
AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
CLOCK_SKEW = timedelta(minutes=5)


class Unusable(ValueError):
    """A file that is no certificate, or no key; the message names it and the way out."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path

    @staticmethod
    def in_directory(directory: Path, name: str) -> "Pair":
        return Pair(directory / f"{name}.crt", directory / f"{name}.key")

    def delete(self) -> None:
        self.certificate.unlink(missing_ok=True)
        self.key.unlink(missing_ok=True)


class Authority:
    """Issues certificates at the instant `now`. `name` is the authority's own, where it is made anew.

    Raises: Unusable when a file in the directory cannot be read.
    """

    def __init__(self, directory: Path, now: datetime, name: str = "kubernetes-ca") -> None:
        self._directory = directory
        self._now = now
        self._name = name
        self.pair = Pair.in_directory(directory, AUTHORITY)
        self._certificate = self._usable(self.pair, issuer=None) or self._create()
        self._key = _load_key(self.pair.key)

    def server(self, name: str) -> Pair:
        """A pair for a server on this machine, called 127.0.0.1 and localhost."""
        names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))])
        return self._ensure(name, x509.Name([_common(name)]), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name: str, user: str, groups: tuple[str, ...]) -> Pair:
        """A pair that an API server knows as `user` in `groups`."""
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return self._ensure(name, x509.Name([*organizations, _common(user)]), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _ensure(
        self, name: str, subject: x509.Name, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None
    ) -> Pair:
        pair = Pair.in_directory(self._directory, name)
        present = self._usable(pair, issuer=self._certificate)
        if present is None or present.subject != subject:
            self._issue(pair, subject, usage, names)
        return pair

    def _issue(
        self, pair: Pair, subject: x509.Name, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None
    ) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, self._certificate.subject, key.public_key(), LEAF_LIFETIME)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        _save(pair, builder.sign(self._key, hashes.SHA256()), key)

    def _create(self) -> x509.Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([_common(self._name)])
        certificate = (
            self._builder(name, name, key.public_key(), AUTHORITY_LIFETIME)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        _save(self.pair, certificate, key)
        return certificate

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: timedelta
    ) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            issuer_name=issuer,
            subject_name=subject,
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=self._now - CLOCK_SKEW,
            not_valid_after=self._now + lifetime,
        )

    def _usable(self, pair: Pair, issuer: x509.Certificate | None) -> x509.Certificate | None:
        """The certificate of `pair` when it is there, lasts, and was issued by `issuer` (None: by itself)."""
        if not (pair.certificate.exists() and pair.key.exists()):
            return None
        certificate = _load_certificate(pair.certificate)
        lasts = certificate.not_valid_before_utc <= self._now < certificate.not_valid_after_utc - RENEW_BEFORE
        return certificate if lasts and _issued_by(certificate, issuer or certificate) else None


def _issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError):
        return False
    return True


def _common(name: str) -> x509.NameAttribute[str]:
    return x509.NameAttribute(NameOID.COMMON_NAME, name)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _load_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError as error:
        raise Unusable(f"{path} is no certificate ({error}): delete it, and it is made anew") from error


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise Unusable(f"{path} is no private key ({error}): delete it, and it is made anew") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise Unusable(f"{path} is no elliptic-curve key: delete it, and it is made anew")
    return key


def _save(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    write_file(
        pair.key,
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
    write_file(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)
