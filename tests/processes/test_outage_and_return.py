"""Things that an outage, and a failover that gets stuck, leave alone: real processes, driven by the real kubectl."""

from collections.abc import Generator
from typing import Any

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]

HELD = "leeward.dev/EvictionHeld"
SHOP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true,
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: shop}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: Namespace, name: shop}
  - {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: widgets.example.com}
  - {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
  - {apiVersion: v1, kind: Service, namespace: shop, name: web}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
"""
THEIRS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: shop}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: theirs, namespace: shop}
"""
ONE_COPY = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: solo, labels: {app: solo}}
spec:
  replicas: 2
  selector: {matchLabels: {app: solo}}
  template:
    metadata: {labels: {app: solo}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: solo}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: solo}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    options = ("--member", "member1", "--member", "member2", "--graceful-eviction-timeout", "4s")
    with running_fleet(tmp_path_factory.mktemp("fleet"), *options) as running:
        yield running


def held(fleet: Fleet, name: str, namespace: str = "default") -> str:
    conditions = fleet.get("resourcebinding", name, "-n", namespace)["status"].get("conditions", [])
    return next((condition["reason"] for condition in conditions if condition["type"] == HELD), "")


def deployment(fleet: Fleet, name: str, context: str, namespace: str = "default") -> dict[str, Any]:
    return fleet.get("deployment", name, "-n", namespace, context=context)


def ready_in(fleet: Fleet, name: str, context: str, namespace: str = "default") -> int:
    return deployment(fleet, name, context, namespace).get("status", {}).get("readyReplicas", 0)


def identities(fleet: Fleet) -> dict[str, str]:
    """Identities of everything in the Namespace `shop` of member1, of it, and of the definition; and the address."""
    what = "namespace/shop crd/widgets.example.com"
    listed = [fleet.get(*what.split(), context="member1")]
    kinds = "deployments,services,pods,configmaps,widgets.example.com"
    listed.append(fleet.get(kinds, "-n", "shop", context="member1"))
    items = [item for each in listed for item in each["items"]]
    found = {f"{item['kind']}/{item['metadata']['name']}": item["metadata"]["uid"] for item in items}
    assert sum(name.startswith("Pod/") for name in found) == 2
    assert {"ConfigMap/theirs", "Widget/theirs", "Namespace/shop"} < found.keys()
    address = fleet.get("service", "web", "-n", "shop", context="member1")["spec"]["clusterIP"]
    return {**found, "address": address}


def test_s12_after_an_outage_every_object_is_the_one_that_it_was(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=SHOP)
    for member in ("member1", "member2"):
        fleet.eventually(lambda member=member: ready_in(fleet, "web", member, "shop") == 2, f"web runs in {member}")
    fleet.eventually(
        lambda: fleet.exists("crd", "widgets.example.com", context="member1"), "the definition is in member1"
    )
    fleet.eventually(
        lambda: "created" in fleet.kubectl("create", "-f", "-", context="member1", stdin=THEIRS),
        "they own things there",
    )
    before = identities(fleet)

    fleet.leeward("member", "unready", "member1")
    fleet.eventually(lambda: held(fleet, "web-deployment", "shop") == "NothingToGain", "its eviction is due, and kept")
    assert fleet.get("resourcebinding", "web-deployment", "-n", "shop")["spec"].get("gracefulEvictionTasks") is None
    fleet.leeward("member", "ready", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "member1 is back")
    fleet.eventually(lambda: fleet.taints("member1") == set(), "without a taint")
    fleet.eventually(lambda: held(fleet, "web-deployment", "shop") == "", "nothing is due any more")
    assert identities(fleet) == before


def test_s1_the_only_copy_that_serves_stays_whatever_happens_to_it(fleet: Fleet) -> None:
    fleet.kubectl("cordon", *names(fleet.get("nodes", context="member2")), context="member2")
    fleet.kubectl("apply", "-f", "-", stdin=ONE_COPY.replace("[member1, member2]", "[member1]"))
    fleet.eventually(lambda: ready_in(fleet, "solo", "member1") == 2, "solo runs in member1")
    uid = deployment(fleet, "solo", "member1")["metadata"]["uid"]
    fleet.kubectl("apply", "-f", "-", stdin=ONE_COPY)
    fleet.kubectl("label", "deployment", "solo", "both=allowed")
    fleet.leeward("taint", "member1", "example.com/maintenance:NoExecute")
    fleet.eventually(lambda: list(fleet.assigned("solo-deployment")) == ["member2"], "it leaves member1")
    fleet.eventually(lambda: held(fleet, "solo-deployment") == "ReplacementMissing", "its grace period is over")

    for event in (
        ("label", "deployment", "solo", "x=y"),
        ("set", "image", "deployment/solo", "main=nginx:2"),
        ("scale", "deployment/solo", "--replicas=3"),
    ):
        fleet.kubectl(*event)
        generation = str(fleet.get("deployment", "solo")["metadata"]["generation"])
        fleet.eventually(lambda g=generation: seen_in(fleet, "member1") == g, f"{event[0]} has come to member1")
        fleet.eventually(lambda: ready_in(fleet, "solo", "member1") >= 2, "and it serves")
    for pod in fleet.get("pods", "-l", "app=solo", context="member1")["items"][:1]:
        fleet.kubectl("delete", "pod", pod["metadata"]["name"], context="member1")
    fleet.leeward("member", "unready", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "False", "member1 has a blip")
    fleet.leeward("member", "ready", "member1")
    fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "and is well again")
    fleet.eventually(lambda: held(fleet, "solo-deployment") == "ReplacementMissing", "still no replacement")
    assert deployment(fleet, "solo", "member1")["metadata"]["uid"] == uid
    assert ready_in(fleet, "solo", "member1") >= 2

    fleet.kubectl("uncordon", *names(fleet.get("nodes", context="member2")), context="member2")
    fleet.eventually(lambda: ready_in(fleet, "solo", "member2") == 3, "the replacement is healthy")
    fleet.eventually(lambda: not fleet.exists("deployment", "solo", context="member1"), "and then the old copy goes")


def names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def seen_in(fleet: Fleet, member: str) -> str:
    """The generation of the template that the member's copy was made from."""
    return deployment(fleet, "solo", member)["metadata"]["annotations"]["resourcetemplate.karmada.io/generation"]
