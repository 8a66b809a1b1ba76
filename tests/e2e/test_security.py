"""Attacks on real Kubernetes: a tenant's bindings and load, a hostile member, a stolen token, somebody else's Secrets.

The cluster proxy is the embedded API server's: test_cluster_proxy.py.
"""

import base64
import gzip
import json
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kubeapi.certificate_requests import Subject, make_request
from kubeapi.meta import Manifest
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, REFUSED_CONDITION
from leeward.api.rules.bounds import MOST_SELECTORS
from leeward.core.registration import SIGNER, USAGES
from tests.certificates import Authority
from tests.e2e.fleet import MEMBERS, Fleet
from tests.https_server import Asked, https_server
from tests.kubectl import run_command

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


def policy(name: str, selectors: list[str], priority: int = 0) -> Manifest:
    selected = [{"apiVersion": "v1", "kind": "ConfigMap", "name": each} for each in selectors]
    placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": TENANT},
        "spec": {"resourceSelectors": selected, "placement": placement, "priority": priority},
    }


def listed(items: list[Manifest]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def ready_since(fleet: Fleet) -> dict[str, tuple[str, str]]:
    """Tells of each member what Ready says, and since when."""
    clusters = [cluster for cluster in fleet.get("clusters")["items"] if cluster["metadata"]["name"] in MEMBERS]
    return {
        cluster["metadata"]["name"]: (condition["status"], condition["lastTransitionTime"])
        for cluster in clusters
        for condition in cluster["status"]["conditions"]
        if condition["type"] == "Ready"
    }


@contextmanager
def nobody_else_is_harmed(fleet: Fleet) -> Generator[None]:
    """All members are Ready all the while, without a taint."""
    before = ready_since(fleet)
    assert {status for status, _ in before.values()} == {"True"}
    yield
    assert ready_since(fleet) == before
    assert [fleet.taints(member) for member in MEMBERS] == [set()] * len(MEMBERS)


@pytest.fixture
def tenant(fleet: Fleet) -> Iterator[str]:
    fleet.kubectl("create", "namespace", TENANT)
    yield TENANT
    fleet.kubectl("delete", "namespace", TENANT)


@pytest.mark.usefixtures("tenant")
def test_the_load_of_a_tenant_makes_no_member_look_dead(fleet: Fleet) -> None:
    """Load as large as the bounds allow, touched again and again; what is beyond them is refused with the way out."""
    names = [f"c{number}" for number in range(MOST_SELECTORS)]
    told = fleet.kubectl("create", "-f", "-", stdin=json.dumps(policy("huge", [*names, "one-more"])), fails=True)
    assert f"spec.resourceSelectors: Too many: {MOST_SELECTORS + 1}" in told
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": TENANT}}
        for name in names[:100]
    ]
    with nobody_else_is_harmed(fleet):
        fleet.kubectl("create", "-f", "-", stdin=listed(maps))
        for priority in range(2):
            policies = [policy(f"p{number}", names, priority) for number in range(10)]
            fleet.kubectl("apply", "--server-side", "-f", "-", stdin=listed(policies))
        bound = "resourcebinding", "-n", TENANT
        fleet.eventually(lambda: len(fleet.get(*bound)["items"]) == len(maps), "all are bound", times=2)


class HostileMember:
    """Ready, as it says, and of an identity; any list is gzip that opens to 439 MiB of spaces, or 80 MiB of them."""

    def __init__(self) -> None:
        self.lists = 0
        self._bomb = gzip.compress(b" " * (439 << 20), 1)
        self._plain = b'{"items": [' + b" " * (80 << 20)

    def answer(self, asked: Asked) -> tuple[int, bytes, dict[str, str]]:
        path = asked.path.partition("?")[0]
        form = {"content-type": "application/json"}
        match path:
            case "/readyz" | "/healthz" | "/livez":
                return 200, b"ok", {}
            case "/version":
                return 200, b'{"gitVersion": "v1.30.0"}', form
            case "/api/v1/namespaces/kube-system":
                return 200, b'{"metadata": {"name": "kube-system", "uid": "hostile"}}', form
            case _:
                self.lists += 1
                return (
                    (200, self._bomb, {**form, "content-encoding": "gzip"})
                    if self.lists % 2
                    else (
                        200,
                        self._plain,
                        form,
                    )
                )


def test_a_hostile_member_harms_only_itself(fleet: Fleet, tmp_path: Path) -> None:
    hostile = HostileMember()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hostile", "namespace": "karmada-cluster"},
        "stringData": {"token": "its-own"},
    }
    with https_server(hostile.answer, Authority().server_context(tmp_path)) as port, nobody_else_is_harmed(fleet):
        spec = {
            "syncMode": "Push",
            "apiEndpoint": f"https://127.0.0.1:{port}",
            "insecureSkipTLSVerification": True,
            "secretRef": {"namespace": "karmada-cluster", "name": "hostile"},
        }
        cluster: Manifest = {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": "hostile"},
            "spec": spec,
        }
        fleet.kubectl("create", "-f", "-", stdin=listed([secret, cluster]))
        fleet.eventually(lambda: fleet.ready("hostile") == ("False", "ResponseTooLarge"), "it is told of")
        assert hostile.lists
        assert not [taint for taint in fleet.taints("hostile") if taint.endswith("NoExecute")]
        fleet.kubectl("delete", "cluster", "hostile", "--wait=false")
        fleet.eventually(lambda: not fleet.exists("cluster", "hostile"), "it has left")
    fleet.kubectl("delete", "secret", "hostile", "-n", "karmada-cluster")


def ask_for(fleet: Fleet, token: str, cluster: str) -> str:
    """Makes the request of an agent of `cluster` with a bootstrap token; gives its name."""
    request = make_request(Subject(AGENT_USER_PREFIX + cluster, (AGENT_GROUP,))).request
    body: Manifest = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "attack-"},
        "spec": {"signerName": SIGNER, "request": base64.b64encode(request).decode(), "usages": list(USAGES)},
    }
    server = ("--kubeconfig", "/dev/null", "--server", fleet.control_plane.url)
    trusting = ("--certificate-authority", str(fleet.control_plane.authority), "--token", token)
    made = run_command(["kubectl", *server, *trusting, "create", "-f", "-", "-o", "name"], False, json.dumps(body))
    return made.strip().rpartition("/")[2]


def verdict(fleet: Fleet, name: str) -> str:
    conditions: list[Any] = fleet.get("csr", name).get("status", {}).get("conditions") or []
    return conditions[0]["type"] if conditions else ""


def token_of(fleet: Fleet, *options: str) -> str:
    words = fleet.leeward("token", "create", *options).split()
    return words[words.index("--token") + 1]


def test_a_bootstrap_token_makes_one_new_agent_and_none_when_it_is_gone(fleet: Fleet) -> None:
    bound = token_of(fleet, "--cluster", "newcomer")
    for cluster, said in (("other", "Denied"), ("member1", "Denied"), ("newcomer", "Approved")):
        name = ask_for(fleet, bound, cluster)
        fleet.eventually(lambda name=name: verdict(fleet, name) != "", f"the request for {cluster} is decided")
        assert verdict(fleet, name) == said
    fleet.leeward("token", "delete", bound)
    stolen = token_of(fleet)
    fleet.serve.send(signal.SIGSTOP)
    try:
        names = [ask_for(fleet, stolen, cluster) for cluster in ("thief1", "thief2")]
        fleet.leeward("token", "delete", stolen)
    finally:
        fleet.serve.send(signal.SIGCONT)
    for name in names:
        fleet.eventually(lambda name=name: is_told(fleet, name), f"{name} is told of")
        assert verdict(fleet, name) == ""
    fleet.kubectl("delete", "csr", *names)


def is_told(fleet: Fleet, request: str) -> bool:
    events = fleet.get("events", "-n", "default", "--field-selector", "reason=TokenUnknown")["items"]
    return request in [event["involvedObject"]["name"] for event in events]


def test_who_may_write_clusters_has_no_secrets_by_it(fleet: Fleet) -> None:
    """The webhook asks the kube-apiserver what the writer may read."""
    rule = ("--verb=get,list,create,update,patch", "--resource=clusters.cluster.karmada.io")
    fleet.kubectl("create", "clusterrole", "operator", *rule)
    fleet.kubectl("create", "clusterrolebinding", "operator", "--clusterrole=operator", "--user=jane")
    patch = ("patch", "cluster", "member1", "--type=merge", "--as=jane", "-p")
    told = fleet.kubectl(*patch, '{"spec": {"apiEndpoint": "https://192.0.2.1"}}', fails=True)
    assert 'user "jane" may not read the Secret karmada-cluster/member1' in told
    fleet.kubectl(*patch, json.dumps({"metadata": {"labels": {"seen": "once"}}}))
    assert fleet.get("cluster", "member1")["spec"]["apiEndpoint"] == fleet.members["member1"].url
    fleet.kubectl("label", "cluster", "member1", "seen-")
    for kind in ("clusterrolebinding", "clusterrole"):
        fleet.kubectl("delete", kind, "operator")
