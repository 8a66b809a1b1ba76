"""Last: every member leaves, and the installation is taken out."""

from tests.e2e.fleet import MEMBERS, Fleet


def test_when_all_have_left_deinit_leaves_nothing_of_ours(fleet: Fleet) -> None:
    for name in MEMBERS:
        member = str(fleet.members[name].kubeconfig)
        assert "has left" in fleet.leeward("unjoin", name, "--cluster-kubeconfig", member)
        assert not fleet.exists("clusterrole", f"karmada-controller-manager:karmada-{name}", context=name)
    fleet.serve.stop()
    fleet.webhook.stop()
    fleet.leeward("deinit")
    assert "karmada.io" not in fleet.kubectl("get", "customresourcedefinitions", "-o", "name")
    assert "leeward" not in fleet.kubectl("get", "clusterroles,clusterrolebindings", "-o", "name")
    for configuration in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
        assert not fleet.exists(configuration, "leeward-webhook")
    for namespace in ("karmada-system", "karmada-cluster"):
        fleet.eventually(lambda name=namespace: not fleet.exists("namespace", name), f"{namespace} is gone")
