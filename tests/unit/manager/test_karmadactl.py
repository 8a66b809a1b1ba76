"""The calls of karmadactl that docs/karmadactl.md lists, each of them made."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.kubeserver.api_world import config_map, pod
from tests.unit.manager.test_all_clusters import ADMIN, Scene, tell

DOCUMENT = Path(__file__).parents[3] / "docs" / "karmadactl.md"
CLUSTER = "/apis/cluster.karmada.io/v1alpha1/clusters/member1"
POLICY = {
    "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "web"}],
    "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
}
BODIES: dict[str, Any] = {
    f"PATCH {CLUSTER}": {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
    f"PATCH {CLUSTER}/proxy/api/v1/namespaces/default/configmaps/web": {"data": {"a": "b"}},
    "POST /api/v1/namespaces/default/configmaps": config_map("web"),
    "POST /apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies": {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "web"},
        "spec": POLICY,
    },
}
OTHERWISE = {
    "GET /api/v1/namespaces/default/configmaps/web": 404,
    "GET /apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/web": 404,
    f"GET {CLUSTER}/proxy/apis/metrics.k8s.io/v1beta1/nodes": 404,
    f"GET {CLUSTER}/proxy/api/v1/namespaces/default/pods/web/log": 204,
    f"POST {CLUSTER}/proxy/api/v1/namespaces/default/pods/web/exec": 400,
}
"""Codes other than 200 and 201: of what is not there yet, and what a Pod that runs nowhere has not."""


def calls() -> list[str]:
    written = re.findall(r"`((?:GET|POST|PATCH) [^`]+)`", DOCUMENT.read_text())
    return [call.replace(" P/", f" {CLUSTER}/proxy/").replace("NAME", "member1") for call in written]


@pytest.mark.parametrize("call", [call for call in calls() if "watch" not in call])
def test_every_call_of_karmadactl_is_answered(call: str) -> None:
    async def story(scene: Scene) -> None:
        member = scene.members["member1"]
        await member.create("/api/v1/namespaces/default/pods", pod("web"))
        await member.create("/api/v1/namespaces/default/configmaps", config_map("web"))
        method, _, path = call.partition(" ")
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await scene.plane.call(method, path, BODIES.get(call), content_type=kind, user=ADMIN)
        assert answer.code == OTHERWISE.get(call, 201 if method == "POST" else 200), answer.body

    tell(story)


def test_a_table_has_the_labels_by_which_karmadactl_tells_what_is_managed() -> None:
    async def story(scene: Scene) -> None:
        made = {**config_map("managed"), "metadata": {"name": "managed", "labels": {"karmada.io/managed": "true"}}}
        await scene.members["member1"].create("/api/v1/namespaces/default/configmaps", made)
        path = f"{CLUSTER}/proxy/api/v1/namespaces/default/configmaps"
        table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
        rows = (await scene.plane.call("GET", path, accept=table, user=ADMIN)).body["rows"]
        labels = {row["cells"][0]: row["object"]["metadata"].get("labels") for row in rows}
        assert labels["managed"] == {"karmada.io/managed": "true"}

    tell(story)
