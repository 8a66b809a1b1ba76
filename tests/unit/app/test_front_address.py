"""The kubeconfig that leads to the cluster proxy, and the remark of a switch while none has run."""

from pathlib import Path

import pytest
import yaml

from kubeapi.meta import Manifest
from leeward.app.front_address import FrontAddress, kubeconfig_through
from leeward.app.local.errors import FleetError
from leeward.app.migration.review import Weight, review
from leeward.app.migration.survey import Survey

ADDRESS = FrontAddress("https://front.example:8444", b"PEM")
KUBECONFIG: Manifest = {
    "current-context": "karmada",
    "clusters": [
        {"name": "karmada", "cluster": {"server": "https://karmada.example", "insecure-skip-tls-verify": True}}
    ],
    "contexts": [
        {"name": "karmada", "context": {"cluster": "karmada", "user": "root", "namespace": "shop"}},
        {"name": "other", "context": {"cluster": "karmada", "user": "jane"}},
    ],
    "users": [
        {"name": "root", "user": {"client-certificate": "pki/root.crt", "client-key": "/pki/root.key"}},
        {"name": "jane", "user": {"token": "secret"}},
    ],
}


def test_it_leads_there_as_the_same_user_from_wherever_it_is_kept() -> None:
    made = yaml.safe_load(kubeconfig_through(ADDRESS, KUBECONFIG, "", Path("/home/root")))
    assert made["clusters"][0]["cluster"] == {"server": ADDRESS.url, "certificate-authority-data": "UEVN"}
    assert made["contexts"][0]["context"] == {"cluster": "leeward-cluster-proxy", "user": "root", "namespace": "shop"}
    user = {"client-certificate": "/home/root/pki/root.crt", "client-key": "/pki/root.key"}
    assert made["users"] == [{"name": "root", "user": user}]


@pytest.mark.parametrize(
    ("command", "found"),
    [("./plugin", "/home/root/plugin"), ("bin/plugin", "/home/root/bin/plugin"), ("/p", "/p"), ("plugin", "plugin")],
)
def test_a_plug_in_is_found_from_wherever_the_kubeconfig_is_kept(command: str, found: str) -> None:
    user = {"exec": {"command": command, "args": ["./token"], "apiVersion": "client.authentication.k8s.io/v1"}}
    kubeconfig = KUBECONFIG | {"users": [{"name": "root", "user": user}]}
    made = yaml.safe_load(kubeconfig_through(ADDRESS, kubeconfig, "", Path("/home/root")))
    assert made["users"][0]["user"] == {"exec": {**user["exec"], "command": found}}


def test_it_leads_by_the_same_proxy_and_tells_plug_ins_the_same() -> None:
    kept = {"proxy-url": "socks5://127.0.0.1:1080", "extensions": [{"name": "client.authentication.k8s.io/exec"}]}
    before = {"server": "https://karmada.example", "tls-server-name": "karmada", **kept}
    kubeconfig = KUBECONFIG | {"clusters": [{"name": "karmada", "cluster": before}]}
    made = yaml.safe_load(kubeconfig_through(ADDRESS, kubeconfig, "", Path("/home/root")))
    cluster = {"server": ADDRESS.url, "certificate-authority-data": "UEVN", **kept}
    assert made["clusters"][0]["cluster"] == cluster


def test_the_context_that_is_named_counts_and_one_that_is_not_there_is_told() -> None:
    made = yaml.safe_load(kubeconfig_through(ADDRESS, KUBECONFIG, "other", Path("/")))
    assert (made["current-context"], made["users"][0]["user"]) == ("other", {"token": "secret"})
    with pytest.raises(FleetError, match="no context 'nobodys': name one with --context"):
        kubeconfig_through(ADDRESS, KUBECONFIG, "nobodys", Path("/"))


def test_a_switch_says_what_is_missing_until_the_cluster_proxy_has_run() -> None:
    clusters: tuple[Manifest, ...] = ({"metadata": {"name": "member1"}, "spec": {}},)
    (remark,) = review(Survey(clusters=clusters))
    assert (remark.weight, remark.about) == (Weight.STAYS, "cluster-proxy")
    assert "clusters/NAME/proxy" in remark.sentence
    assert "leeward cluster-proxy" in remark.next
    assert review(Survey(clusters=clusters, cluster_proxy=ADDRESS.url)) == []
    assert review(Survey(clusters=())) == []
