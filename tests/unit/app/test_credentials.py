import base64
import csv
import stat
from pathlib import Path
from typing import Any

import pytest

from kubeapi.codec import parse_yaml
from kubeapi.loop.randomness import Randomness
from kubeclient.kubeconfig import load
from leeward.app.local.credentials import delete_credentials, issue_credentials, read_token, write_kubeconfig
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member
from leeward.app.local.layout import Layout

FLEET = LocalFleet(20_000, (Member("member1", "push", 20_001), Member("member3", "pull", 20_003)))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    issue_credentials(layout, FLEET, Randomness(1))
    return layout


def _kubeconfig(path: Path) -> Any:
    return next(parse_yaml(path.read_bytes()))


def test_the_kubeconfig_has_one_context_for_each_cluster(layout: Layout) -> None:
    kubeconfig = _kubeconfig(layout.kubeconfig)
    assert [context["name"] for context in kubeconfig["contexts"]] == ["karmada-apiserver", "member1", "member3"]
    assert kubeconfig["current-context"] == "karmada-apiserver"


def test_every_context_leads_to_its_cluster_with_the_certificates_inlined(layout: Layout) -> None:
    for context, port in (("karmada-apiserver", 20_000), ("member1", 20_001), ("member3", 20_003)):
        connection = load(layout.kubeconfig, context)
        assert connection.server == f"https://127.0.0.1:{port}"
        assert connection.certificate_authority == (layout.pki / "ca.crt").read_bytes()
        assert connection.client_certificate == (layout.pki / "admin.crt").read_bytes()


def test_everything_secret_is_for_its_owner_only(layout: Layout) -> None:
    secret = [
        layout.kubeconfig,
        layout.agent_kubeconfig("member3"),
        layout.tokens("member1"),
        layout.control_plane_tokens,
        *layout.pki.glob("*.key"),
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}


def test_an_agent_has_its_own_certificate_and_the_members_token(layout: Layout) -> None:
    path = layout.agent_kubeconfig("member3")
    control_plane, member = load(path, "karmada-apiserver"), load(path, "member3")
    assert control_plane.client_certificate == (layout.pki / "member3-agent.crt").read_bytes()
    assert member.server == "https://127.0.0.1:20003"
    assert member.token == read_token(layout.tokens("member3"))


def test_a_push_member_has_no_agent_credentials(layout: Layout) -> None:
    assert not layout.agent_kubeconfig("member1").exists()
    assert not (layout.pki / "member1-agent.crt").exists()


def test_tokens_are_in_the_form_of_kube_apiserver(layout: Layout) -> None:
    with layout.tokens("member1").open() as file:
        ((token, user, uid, groups),) = csv.reader(file)
    assert (user, groups) == ("karmada-controller-manager", "system:karmada:member-access")
    assert len(token) == 32
    assert uid


def test_tokens_are_kept_over_restarts(layout: Layout) -> None:
    before = read_token(layout.tokens("member1"))
    issue_credentials(layout, FLEET, Randomness(2))
    assert read_token(layout.tokens("member1")) == before


def test_a_member_that_left_has_no_context_and_no_key(layout: Layout) -> None:
    write_kubeconfig(layout, FLEET.without_member("member3"))
    delete_credentials(layout, "member3")
    assert [c["name"] for c in _kubeconfig(layout.kubeconfig)["contexts"]] == ["karmada-apiserver", "member1"]
    assert not list(layout.pki.glob("member3*"))


def test_the_authority_in_the_kubeconfig_is_base64(layout: Layout) -> None:
    data = _kubeconfig(layout.kubeconfig)["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(data).startswith(b"-----BEGIN CERTIFICATE-----")


def test_a_missing_or_empty_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"tokens\.csv cannot be read"):
        read_token(tmp_path / "tokens.csv")
    (tmp_path / "tokens.csv").write_text("")
    with pytest.raises(FleetError, match=r"tokens\.csv is empty"):
        read_token(tmp_path / "tokens.csv")


def test_a_kubeconfig_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.kubeconfig.mkdir()
    with pytest.raises(FleetError, match=r"kubeconfig cannot be written \(Is a directory\): move away what is there"):
        issue_credentials(layout, LocalFleet(20_000), Randomness(1))
