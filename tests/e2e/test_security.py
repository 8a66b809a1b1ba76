"""A ResourceBinding reaches only its own namespace, on real Kubernetes: with the webhook, and where it is away."""

import json
from collections.abc import Generator
from contextlib import contextmanager

from kubeapi.meta import Manifest
from leeward.api.names import REFUSED_CONDITION
from tests.e2e.fleet import MEMBERS, Fleet

TENANT = "tenant"
CONFIGURATIONS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
WEBHOOK = "leeward-webhook"


def binding(name: str, api_version: str, kind: str, namespace: str, template: str) -> Manifest:
    resource = {"apiVersion": api_version, "kind": kind, "name": template}
    if namespace:
        resource["namespace"] = namespace
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": TENANT},
        "spec": {
            "resource": resource,
            "clusters": [{"name": member} for member in MEMBERS],
            "placement": {"clusterAffinity": {"clusterNames": list(MEMBERS)}},
            "conflictResolution": "Overwrite",
        },
    }


STOLEN = binding("stolen", "v1", "Secret", "karmada-system", "stolen")
ATTACKS = (
    STOLEN,
    binding("namespace", "v1", "Namespace", "", "kube-public"),
    binding("right", "rbac.authorization.k8s.io/v1", "ClusterRole", TENANT, "view"),
    binding("path", "../api/v1", "Secret", TENANT, "../../karmada-system/secrets/stolen"),
)


@contextmanager
def nobody_asked(fleet: Fleet) -> Generator[None]:
    """The webhook is away, and the kube-apiserver does not know of it."""
    fleet.webhook.stop()
    for kind in CONFIGURATIONS:
        fleet.kubectl("delete", kind, WEBHOOK)
    try:
        yield
    finally:
        fleet.start_webhook()
        for kind in CONFIGURATIONS:
            fleet.eventually(lambda kind=kind: fleet.exists(kind, WEBHOOK), "the webhook is asked again")


def is_refused(fleet: Fleet, name: str) -> bool:
    conditions = fleet.get("resourcebinding", name, "-n", TENANT).get("status", {}).get("conditions", [])
    told = [(c["status"], c["reason"]) for c in conditions if c["type"] == REFUSED_CONDITION]
    return told == [("True", "TemplateOutOfReach")]


def test_a_binding_reaches_only_its_own_namespace(fleet: Fleet) -> None:
    fleet.kubectl("create", "namespace", TENANT)
    fleet.kubectl("create", "secret", "generic", "stolen", "-n", "karmada-system", "--from-literal=token=hunter2")
    told = fleet.kubectl("create", "-f", "-", stdin=json.dumps(STOLEN), fails=True)
    assert "spec.resource.namespace" in told
    with nobody_asked(fleet):
        for attack in ATTACKS:
            fleet.kubectl("create", "-f", "-", stdin=json.dumps(attack))
        for attack in ATTACKS:
            name = attack["metadata"]["name"]
            fleet.eventually(lambda name=name: is_refused(fleet, name), f"binding {name} is refused")
    versions = [fleet.get("resourcebinding", "-n", TENANT)["items"]]
    for member in MEMBERS:
        works = fleet.get("works", "-n", f"karmada-es-{member}")["items"]
        names = [work["metadata"]["name"].rpartition("-")[0] for work in works]
        assert not {"stolen", "kube-public", "view"}.intersection(names)
        assert not fleet.exists("secret", "stolen", "-n", "karmada-system", context=member)
    versions.append(fleet.get("resourcebinding", "-n", TENANT)["items"])
    first, later = ([each["metadata"]["resourceVersion"] for each in items] for items in versions)
    assert first == later, "it is said once"
    for attack in ATTACKS:
        fleet.kubectl("delete", "resourcebinding", attack["metadata"]["name"], "-n", TENANT)
    fleet.kubectl("delete", "secret", "stolen", "-n", "karmada-system")
    fleet.kubectl("delete", "namespace", TENANT)
