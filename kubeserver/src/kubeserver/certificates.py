"""A certificate authority in a directory, and the pairs that it issues.

Pairs are kept over restarts and made anew when they are missing, foreign, or within 30 days of their end. Private keys
are mode 0600 from their first byte on.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from kubeapi.certificates import Issuer, Usage, certificate_pem, key_pem, lasts, new_key, read_key, subject_name
from kubeapi.files import write_file

AUTHORITY = "ca"
"""Name of the authority's own pair."""
AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
THIS_MACHINE = ("localhost", "127.0.0.1")


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
        certificate = self._usable(self.pair, issuer=None)
        self._issuer = self._create() if certificate is None else Issuer(certificate, _load_key(self.pair.key))

    def server(self, name: str) -> Pair:
        """A pair for a server on this machine, called 127.0.0.1 and localhost."""
        return self._ensure(name, subject_name(name), Usage.SERVER, THIS_MACHINE)

    def client(self, name: str, user: str, groups: tuple[str, ...]) -> Pair:
        """A pair that an API server knows as `user` in `groups`."""
        return self._ensure(name, subject_name(user, groups), Usage.CLIENT)

    def _ensure(self, name: str, subject: x509.Name, usage: Usage, hosts: tuple[str, ...] = ()) -> Pair:
        pair = Pair.in_directory(self._directory, name)
        present = self._usable(pair, issuer=self._issuer.certificate)
        if present is None or present.subject != subject:
            key = new_key()
            _save(pair, self._issuer.issue(subject, key.public_key(), usage, self._now, LEAF_LIFETIME, hosts), key)
        return pair

    def _create(self) -> Issuer:
        issuer = Issuer.self_signed(self._name, self._now, AUTHORITY_LIFETIME)
        _save(self.pair, issuer.certificate, issuer.key)
        return issuer

    def _usable(self, pair: Pair, issuer: x509.Certificate | None) -> x509.Certificate | None:
        """The certificate of `pair` when it is there, lasts, and was issued by `issuer` (None: by itself)."""
        if not (pair.certificate.exists() and pair.key.exists()):
            return None
        certificate = _load_certificate(pair.certificate)
        usable = lasts(certificate, self._now, RENEW_BEFORE) and _issued_by(certificate, issuer or certificate)
        return certificate if usable else None


def _issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError):
        return False
    return True


def _load_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError as error:
        raise Unusable(f"{path} is no certificate ({error}): delete it, and it is made anew") from error


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        return read_key(path.read_bytes())
    except ValueError as error:
        raise Unusable(f"{path} is no private key ({error}): delete it, and it is made anew") from error


def _save(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    write_file(pair.key, key_pem(key))
    write_file(pair.certificate, certificate_pem(certificate), mode=0o644)
