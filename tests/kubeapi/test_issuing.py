"""An authority and what it signs, and the TLS contexts that show it."""

import os
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kubeapi.certificates import Issuer, Usage, certificate_pem, key_pem, lasts, new_key, read_key, subject_name
from kubeapi.tls import load_pair, server_context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_a_certificate_ends_with_its_authority_at_the_latest() -> None:
    issuer = Issuer.self_signed("ca", NOW, 10 * DAY)
    key = new_key().public_key()
    short = issuer.issue(subject_name("u"), key, Usage.CLIENT, NOW, 5 * DAY)
    long = issuer.issue(subject_name("u"), key, Usage.CLIENT, NOW + 5 * DAY, 10 * DAY)
    assert (short.not_valid_after_utc, long.not_valid_after_utc) == (NOW + 5 * DAY, NOW + 10 * DAY)
    assert lasts(long, NOW + 7 * DAY, 2 * DAY)
    assert not lasts(long, NOW + 8 * DAY, 2 * DAY)
    assert not lasts(long, NOW, 2 * DAY)


def test_what_is_signed_names_the_key_as_the_authority_does() -> None:
    """OpenSSL and Go's library name keys by different digests: whoever compares the names must find them equal."""
    key, name = new_key(), subject_name("foreign")
    named = x509.SubjectKeyIdentifier(b"in another way")
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + DAY).add_extension(named, False)
    foreign = Issuer.of_pem(certificate_pem(builder.sign(key, hashes.SHA256())), key_pem(key))
    issued = foreign.issue(subject_name("u", ["g"]), new_key().public_key(), Usage.CLIENT, NOW, DAY)
    identifier = issued.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert identifier.key_identifier == b"in another way"
    issued.verify_directly_issued_by(foreign.certificate)


def test_a_key_of_another_kind_is_refused() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    plain = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    locked = key.private_bytes(serialization.Encoding.PEM, form, serialization.BestAvailableEncryption(b"secret"))
    for pem, fault in ((plain, "no elliptic-curve key"), (locked, "encrypted"), (b"junk", "PEM")):
        with pytest.raises(ValueError, match=fault):
            read_key(pem)


def test_a_server_asks_for_client_certificates_where_it_has_an_authority_for_them(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(certificate_pem(Issuer.self_signed("ca", NOW, DAY).certificate))
    assert server_context().verify_mode == ssl.CERT_NONE
    assert server_context(tmp_path / "ca.crt").verify_mode == ssl.CERT_OPTIONAL
    assert server_context().minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_pair_that_was_loaded_is_in_no_file_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    issuer, key = Issuer.self_signed("ca", NOW, DAY), new_key()
    certificate = certificate_pem(issuer.issue(subject_name("u"), key.public_key(), Usage.SERVER, NOW, DAY))
    load_pair(server_context(), certificate, key_pem(key))
    with pytest.raises(ssl.SSLError):
        load_pair(server_context(), certificate, key_pem(new_key()))
    assert os.listdir(tmp_path) == []
