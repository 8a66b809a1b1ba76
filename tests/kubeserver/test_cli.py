"""`kubeserver`: what it is told on its command line."""

from pathlib import Path

from click.testing import CliRunner, Result

from kubeserver.cli import main
from kubeserver.serialization.durations import parse_duration


def said(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_its_help_names_what_it_needs() -> None:
    shown = said("--help")
    assert shown.exit_code == 0
    for option in ("--data-dir", "--bind-address", "--secure-port", "--token-auth-file", "--client-ca-file"):
        assert option in shown.output


def test_it_must_be_told_where_its_objects_are() -> None:
    refused = said()
    assert (refused.exit_code, "--data-dir" in refused.output) == (2, True)


def test_a_certificate_goes_with_its_key(tmp_path: Path) -> None:
    certificate = tmp_path / "tls.crt"
    certificate.write_text("")
    refused = said("--data-dir", tmp_path, "--tls-cert-file", certificate)
    assert "--tls-cert-file and --tls-private-key-file go together" in refused.output


def test_a_duration_that_is_none_is_told_with_what_to_write(tmp_path: Path) -> None:
    refused = said("--data-dir", tmp_path, "--event-ttl", "soon")
    assert 'invalid duration "soon": write 30m or 1h' in refused.output


def test_a_duration_is_read_in_seconds() -> None:
    assert [parse_duration(text) for text in ("1h30m", "500ms", "0", "-2s")] == [5400.0, 0.5, 0.0, -2.0]
