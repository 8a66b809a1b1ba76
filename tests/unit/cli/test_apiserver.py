"""`leeward apiserver`: what it is told on its command line."""

from pathlib import Path

import pytest

from leeward.cli.program import main


def _complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as end:
        main(["apiserver", *map(str, arguments)])
    assert end.value.code == 2
    return capsys.readouterr().err


def test_it_must_be_told_where_its_objects_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--data-dir is missing" in _complaint(capsys)


def test_a_certificate_goes_with_its_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    certificate = tmp_path / "tls.crt"
    certificate.write_text("")
    said = _complaint(capsys, "--data-dir", tmp_path, "--tls-cert-file", certificate)
    assert "--tls-cert-file and --tls-private-key-file go together" in said


def test_a_port_is_a_port(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--secure-port" in _complaint(capsys, "--data-dir", tmp_path, "--secure-port", "70000")
