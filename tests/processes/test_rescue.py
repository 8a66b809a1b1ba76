"""`leeward up --controllers=`: an object that keeps the control plane down can be deleted (docs/runbooks.md)."""

from pathlib import Path

import pytest

from tests.processes.fleet import needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""


def test_an_api_server_without_controllers_answers_and_lets_go(tmp_path: Path) -> None:
    with running_fleet(tmp_path, "--member", "member1") as fleet:
        fleet.kubectl("create", "configmap", "harmful")
        fleet.leeward("down")
        fleet.leeward("up", "--detach", "--no-dashboard", "--controllers=")
        fleet.kubectl("create", "deployment", "web", "--image", "nginx")
        fleet.kubectl("apply", "-f", "-", stdin=POLICY)
        fleet.kubectl("delete", "configmap", "harmful")
        assert not fleet.exists("resourcebinding", "web-deployment")
        fleet.leeward("down")
        fleet.leeward("up", "--detach", "--no-dashboard", "--controllers=*")
        names = {each["metadata"]["name"] for each in fleet.get("configmaps")["items"]}
        assert "harmful" not in names
        assert [each["metadata"]["name"] for each in fleet.get("deployments")["items"]] == ["web"]
        fleet.eventually(lambda: fleet.exists("resourcebinding", "web-deployment"), "controllers work again")
