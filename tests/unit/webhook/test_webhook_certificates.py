"""The webhook's certificates over the years."""

from datetime import UTC, datetime, timedelta

from cryptography import x509

from leeward.webhook.certificates import CA, CA_KEY, CERTIFICATE, renew_at, renewed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ["leeward-webhook.karmada-system.svc", "127.0.0.1"]


def made(now: datetime = NOW, data: dict[str, bytes] | None = None) -> dict[str, bytes]:
    fresh = renewed(data or {}, HOSTS, now)
    assert fresh is not None
    return fresh


def is_signed(data: dict[str, bytes]) -> bool:
    x509.load_pem_x509_certificate(data[CERTIFICATE]).verify_directly_issued_by(
        x509.load_pem_x509_certificate(data[CA])
    )
    return True


def test_a_first_certificate_names_its_hosts_and_is_signed_by_its_authority() -> None:
    data = made()
    assert is_signed(data)
    names = x509.load_pem_x509_certificate(data[CERTIFICATE]).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert [str(name.value) for name in names.value] == HOSTS


def test_what_lasts_is_left_alone_until_the_instant_that_is_named() -> None:
    data = made()
    due = renew_at(data)
    assert renewed(data, HOSTS, due - timedelta(seconds=1)) is None
    assert renewed(data, HOSTS, due + timedelta(seconds=1)) is not None


def test_a_certificate_is_renewed_by_the_same_authority() -> None:
    data = made()
    later = made(renew_at(data) + timedelta(seconds=1), data)
    assert later[CA] == data[CA]
    assert later[CERTIFICATE] != data[CERTIFICATE]
    assert is_signed(later)


def test_a_new_authority_stands_before_the_old_one_which_stays_trusted() -> None:
    data = made()
    later = made(NOW + timedelta(days=3650 - 100), data)
    assert later[CA].endswith(data[CA])
    assert later[CA] != data[CA]
    assert is_signed(later)


def test_another_host_or_a_broken_secret_needs_a_new_certificate() -> None:
    data = made()
    assert renewed(data, [*HOSTS, "other"], NOW) is not None
    assert renewed({**data, CA: b"junk"}, HOSTS, NOW) is not None
    without_key = renewed({**data, CA_KEY: b"junk"}, HOSTS, NOW)
    assert without_key is not None
    assert without_key[CA].endswith(data[CA]), "what the lost key has signed stays trusted"
    assert is_signed(without_key)
    assert renewed({**data, CERTIFICATE: b"junk"}, HOSTS, NOW) is not None
