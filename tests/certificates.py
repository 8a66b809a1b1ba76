"""A certificate authority for tests, and the TLS contexts of both sides."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubeapi.loop.clock import VirtualClock


class Authority:
    """Issues certificates for 127.0.0.1, for api.example.org and for users, as PEM."""

    def __init__(self, name: str = "ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = _pem(_builder(self._name, self._name, self._key, True).sign(self._key, hashes.SHA256()))

    def issue(self, name: str, *groups: str) -> tuple[bytes, bytes]:
        """A certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("api.example.org")]
        builder = _builder(subject, self._name, key, False).add_extension(
            x509.SubjectAlternativeName(names), critical=False
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _pem(builder.sign(self._key, hashes.SHA256())), private

    def server_context(self, directory: Path) -> ssl.SSLContext:
        """A server that asks for client certificates of this authority."""
        file = directory / "server.pem"
        file.write_bytes(b"".join(self.issue("server")))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        context.load_verify_locations(cadata=self.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, is_authority: bool
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def client_authority() -> tuple[bytes, bytes]:
    """Certificate and key (PEM) of a CA that signs for clients from the beginning of virtual time on."""
    key = ec.derive_private_key(815, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    now = VirtualClock().now()
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now.replace(year=now.year + 5))
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = serialization.NoEncryption()
    return certificate, key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
