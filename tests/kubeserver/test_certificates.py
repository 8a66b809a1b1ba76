import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from kubeserver.certificates import Authority, Pair, Unusable

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _certificate(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def _handshake(server: Pair, client: Pair, authority: Pair) -> tuple[object, ...]:
    """The subject that the server sees of the client, after a TLS handshake in memory."""
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
    server_context.verify_mode = ssl.CERT_REQUIRED
    server_context.load_cert_chain(server.certificate, server.key)
    client_context = ssl.create_default_context(cafile=authority.certificate)
    client_context.load_cert_chain(client.certificate, client.key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    there = server_context.wrap_bio(to_server, to_client, server_side=True)
    here = client_context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    for side in (here, there, here, there):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    seen = there.getpeercert()
    assert seen is not None
    return tuple(part for relative in seen["subject"] for part in relative)


def test_a_client_is_known_by_its_user_and_groups(tmp_path: Path) -> None:
    authority = Authority(tmp_path, datetime.now(UTC))
    subject = _handshake(
        authority.server("control-plane"), authority.client("admin", "admin", ("system:masters",)), authority.pair
    )
    assert subject == (("organizationName", "system:masters"), ("commonName", "admin"))


def test_private_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    authority = Authority(tmp_path, NOW)
    pairs = [authority.pair, authority.server("member1"), authority.client("admin", "admin", ())]
    assert [_mode(pair.key) for pair in pairs] == [0o600] * 3


def test_certificates_are_kept_over_restarts(tmp_path: Path) -> None:
    first = _certificate(Authority(tmp_path, NOW).server("member1"))
    assert _certificate(Authority(tmp_path, NOW + timedelta(days=300)).server("member1")) == first


def test_a_certificate_is_renewed_within_30_days_of_its_end(tmp_path: Path) -> None:
    first = _certificate(Authority(tmp_path, NOW).server("member1"))
    later = NOW + timedelta(days=336)
    authority = Authority(tmp_path, later)
    second = _certificate(authority.server("member1"))
    assert second != first
    assert second.not_valid_after_utc > later + timedelta(days=300)
    second.verify_directly_issued_by(_certificate(authority.pair))


def test_a_new_authority_issues_everything_anew(tmp_path: Path) -> None:
    first = _certificate(Authority(tmp_path, NOW).server("member1"))
    authority = Authority(tmp_path, NOW + timedelta(days=3640))
    second = _certificate(authority.server("member1"))
    second.verify_directly_issued_by(_certificate(authority.pair))
    assert second != first


def test_a_damaged_certificate_is_named(tmp_path: Path) -> None:
    Authority(tmp_path, NOW)
    (tmp_path / "ca.crt").write_text("no certificate")
    with pytest.raises(Unusable, match=r"ca\.crt is no certificate .*delete it, and it is made anew"):
        Authority(tmp_path, NOW)


def test_a_damaged_key_is_named(tmp_path: Path) -> None:
    Authority(tmp_path, NOW)
    (tmp_path / "ca.key").write_text("no key")
    with pytest.raises(Unusable, match=r"ca\.key is no private key"):
        Authority(tmp_path, NOW)
