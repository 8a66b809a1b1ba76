"""Configuration that a Pod is given for its own API server."""

from pathlib import Path

import pytest

from kubeclient.incluster import load_in_cluster
from kubeclient.kubeconfig import KubeconfigError

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "ca.crt").write_bytes(b"-----BEGIN CERTIFICATE-----")
    return tmp_path


def test_a_pod_speaks_as_its_service_account(account: Path) -> None:
    connection = load_in_cluster(POD, account)
    assert connection.server == "https://10.0.0.1:443"
    assert connection.token_file == account / "token", "read again when it is renewed"
    assert connection.certificate_authority.startswith(b"-----BEGIN")


def test_an_address_of_six_has_brackets(account: Path) -> None:
    assert load_in_cluster({**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}, account).server == "https://[fd00::1]:443"


def test_elsewhere_a_kubeconfig_is_asked_for(account: Path) -> None:
    with pytest.raises(KubeconfigError, match="--kubeconfig: is not given, and this is no Pod"):
        load_in_cluster({}, account)


def test_a_pod_without_a_token_is_told_so(account: Path) -> None:
    (account / "token").unlink()
    with pytest.raises(KubeconfigError, match="token: is missing: mount the service account's token"):
        load_in_cluster(POD, account)
