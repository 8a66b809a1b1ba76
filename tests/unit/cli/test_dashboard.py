"""`leeward dashboard`: what it is told wrongly, and whom its link is for."""

from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from kubeclient.connection import Connection
from leeward.app.dashboard import DashboardRequest
from leeward.cli.dashboard import announce
from tests.verbs import Verb, call_verb

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: hub
contexts: [{name: hub, context: {cluster: hub, user: me}}]
clusters: [{name: hub, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: abc}}]
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Verb:
    def call(*arguments: object) -> tuple[int, str, str]:
        return call_verb(capsys, *arguments)

    return call


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--listen", "nowhere"], "'nowhere' is no address"),
        (["--listen", "0"], "0 is nowhere: write 127.0.0.1:8733"),
        (["--tls-cert", "{file}"], "--tls-cert and --tls-key go together"),
        (["--tls-cert", "{file}", "--tls-key", "{file}"], "they cannot be used"),
        (["--tls-cert", "/nowhere"], "does not exist"),
    ],
)
def test_what_is_told_wrongly_names_the_way_out(run: Verb, kubeconfig: Path, options: list[str], problem: str) -> None:
    given = [option.format(file=kubeconfig) for option in options]
    code, _, errors = run("dashboard", "--kubeconfig", str(kubeconfig), *given)
    assert code != 0
    assert problem in errors


@pytest.mark.parametrize(
    ("host", "is_private", "address"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:8733/"),
        ("127.9.9.9", True, "http://127.9.9.9:8733/"),
        ("::1", True, "http://[::1]:8733/"),
        ("localhost", True, "http://localhost:8733/"),
        ("0.0.0.0", False, "http://0.0.0.0:8733/"),
        ("", False, "http://0.0.0.0:8733/"),
        ("10.0.0.1", False, "http://10.0.0.1:8733/"),
        ("fleet.example", False, "http://fleet.example:8733/"),
    ],
)
def test_only_an_address_of_this_machine_alone_has_a_link(host: str, is_private: bool, address: str) -> None:
    request = DashboardRequest(name="hub", connection=Connection("https://hub.example"), host=host, port=8733)
    assert (request.is_private, request.address) == (is_private, address)


@pytest.mark.parametrize("place", ["Downloads", ""])
def test_a_browser_that_is_opened_gets_the_key_from_a_file_of_its_user_alone(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not hidden, and in the home of its user: a confined browser has a /tmp of its own."""
    launched: list[str] = []
    monkeypatch.setattr(click, "launch", launched.append)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / place).mkdir(exist_ok=True)
    announce("hub", "http://127.0.0.1:8733/#key=hunter2", True)
    (address,) = launched
    assert "hunter2" not in address, "arguments of processes are everybody's"
    file = Path(urlsplit(address).path)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert 'url=http://127.0.0.1:8733/#key=hunter2"' in file.read_text()
    assert file.parent.parent == tmp_path / place
    assert "/." not in str(file.relative_to(tmp_path))


def test_in_a_pod_that_is_told_no_control_plane_it_takes_the_service_account(
    run: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("LEEWARD_DATA_DIR", raising=False)
    for name, value in (("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("KUBERNETES_SERVICE_PORT", "443")):
        monkeypatch.setenv(name, value)
    code, _, errors = run("dashboard")
    assert code != 0
    assert "mount the service account's token, or give --kubeconfig" in errors
