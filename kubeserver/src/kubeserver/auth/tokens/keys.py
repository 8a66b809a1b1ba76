"""The key that signs service account tokens: ECDSA on P-256, in a PEM file of mode 0600."""

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from kubeapi.certificates import key_pem, read_key
from kubeapi.files import write_file
from kubeapi.loop import Randomness


class SigningKey:
    """A pair of keys, and the name by which tokens refer to it."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self.private = key
        self.public = key.public_key()
        spki = self.public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = hashlib.sha256(spki).hexdigest()[:16]

    @staticmethod
    def draw(randomness: Randomness) -> "SigningKey":
        """A new key, of `randomness` alone."""
        number = int(randomness.token() + randomness.token(), 16) >> 1
        return SigningKey(ec.derive_private_key(number or 1, ec.SECP256R1()))

    def public_parts(self) -> dict[str, str]:
        """Parts of the key that verify the signatures, as the members of a JSON Web Key (RFC 7518)."""
        return dict(ECAlgorithm.to_jwk(self.public, as_dict=True))

    def pem(self) -> bytes:
        return key_pem(self.private)


def load_signing_key(path: Path, randomness: Randomness) -> SigningKey:
    """The key in `path`, which is made when it is not there. Raises: ValueError that names the file, OSError."""
    if not path.exists():
        key = SigningKey.draw(randomness)
        write_file(path, key.pem())
        return key
    try:
        loaded = read_key(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no private key ({error}): {_WAY_OUT}") from error
    if not isinstance(loaded.curve, ec.SECP256R1):
        raise ValueError(f"{path} is no key on the curve P-256: {_WAY_OUT}")
    return SigningKey(loaded)


_WAY_OUT = "restore it, or delete it (every service account token ends then)"
