"""Certificates as API servers and their clients use them: a self-signed authority, and what it signs.

An `Issuer` is what can sign. Where it is kept (in a directory, in a Secret) and when something is made anew is decided
by who keeps it. All keys that are made here are on the curve P-256.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SKEW = timedelta(minutes=5)
"""A certificate is valid so long before the instant at which it is made."""
_PEM = serialization.Encoding.PEM


class Usage(Enum):
    """Usage for which a certificate is shown."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True, slots=True)
class Issuer:
    """A certificate authority with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @staticmethod
    def of_pem(certificate: bytes, key: bytes) -> "Issuer":
        """Raises: ValueError when one of them cannot be read, or the key is none of an elliptic curve."""
        return Issuer(x509.load_pem_x509_certificate(certificate), read_key(key))

    @staticmethod
    def self_signed(name: str, now: datetime, lifetime: timedelta) -> "Issuer":
        """A new authority with a new key."""
        key, subject = new_key(), subject_name(name)
        builder = (
            _builder(subject, subject, key.public_key(), now, now + lifetime)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return Issuer(builder.sign(key, hashes.SHA256()), key)

    def issue(
        self,
        subject: x509.Name,
        key: CertificatePublicKeyTypes,
        usage: Usage,
        now: datetime,
        lifetime: timedelta,
        hosts: Iterable[str] = (),
    ) -> x509.Certificate:
        """A certificate that ends with the authority at the latest; `hosts` are addresses and DNS names of a server."""
        ends = min(now + lifetime, self.certificate.not_valid_after_utc)
        builder = (
            _builder(subject, self.certificate.subject, key, now, ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage.value]), critical=False)
            .add_extension(self._key_identifier(), critical=False)
        )
        if names := [_general_name(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def _key_identifier(self) -> x509.AuthorityKeyIdentifier:
        """Identifier as the authority's certificate names its key; others may derive that name in another way than we
        do."""
        try:
            named = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(named)


def subject_name(user: str, groups: Iterable[str] = ()) -> x509.Name:
    """The name of a user as API servers read it: the common name is the user, organizations are its groups."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def lasts(certificate: x509.Certificate, now: datetime, renew_before: timedelta) -> bool:
    """True when it is valid, and ends no sooner than `renew_before` from now."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - renew_before


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def read_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Raises: ValueError."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("it is no elliptic-curve key")
    return key


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(_PEM)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: CertificatePublicKeyTypes, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - CLOCK_SKEW, ends)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
