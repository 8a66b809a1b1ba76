"""The key that signs service account tokens: ECDSA on P-256, in a PEM file of mode 0600."""

import base64
import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from kubeapi.loop.randomness import Randomness

_ALGORITHM = ec.ECDSA(hashes.SHA256())
_PART_BYTES = 32


class SigningKey:
    """Signs and verifies in the form of JWT's ES256: two numbers of 32 bytes."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        spki = self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = hashlib.sha256(spki).hexdigest()[:16]

    @staticmethod
    def draw(randomness: Randomness) -> "SigningKey":
        """A new key, of `randomness` alone."""
        number = int(randomness.token() + randomness.token(), 16) >> 1
        return SigningKey(ec.derive_private_key(number or 1, ec.SECP256R1()))

    def sign(self, message: bytes) -> bytes:
        r, s = decode_dss_signature(self._key.sign(message, _ALGORITHM))
        return r.to_bytes(_PART_BYTES, "big") + s.to_bytes(_PART_BYTES, "big")

    def verifies(self, signature: bytes, message: bytes) -> bool:
        if len(signature) != 2 * _PART_BYTES:
            return False
        r, s = (int.from_bytes(part, "big") for part in (signature[:_PART_BYTES], signature[_PART_BYTES:]))
        try:
            self._public.verify(encode_dss_signature(r, s), message, _ALGORITHM)
        except InvalidSignature:
            return False
        return True

    def public_parts(self) -> dict[str, str]:
        """What verifies the signatures, as the members of a JSON Web Key (RFC 7518)."""
        numbers = self._public.public_numbers()
        x, y = (base64.urlsafe_b64encode(n.to_bytes(_PART_BYTES, "big")) for n in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "x": x.decode().rstrip("="), "y": y.decode().rstrip("=")}

    def pem(self) -> bytes:
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def load_signing_key(path: Path, randomness: Randomness) -> SigningKey:
    """The key in `path`, which is made when it is not there. Raises: ValueError that names the file, OSError."""
    if not path.exists():
        key = SigningKey.draw(randomness)
        _write(path, key.pem())
        return key
    try:
        loaded = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no private key ({error}): {_WAY_OUT}") from error
    if not (isinstance(loaded, ec.EllipticCurvePrivateKey) and isinstance(loaded.curve, ec.SECP256R1)):
        raise ValueError(f"{path} is no key on the curve P-256: {_WAY_OUT}")
    return SigningKey(loaded)


_WAY_OUT = "restore it, or delete it (every service account token ends then)"


def _write(path: Path, content: bytes) -> None:
    """Old or new, never half."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
