"""Users follow a failover and a drain by name: real processes, and a real DNS server that is updated by RFC 2136."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.processes.name_server import (
    Attempt,
    Client,
    ExternalDns,
    LoadBalancer,
    NameServer,
    core_of,
    name_server,
    needs_knot,
    running,
)

pytestmark = [pytest.mark.processes, needs_kubectl, needs_knot]

NAME = "web.example.test"
ADDRESSES = {"member1": "127.0.1.10", "member2": "127.0.1.20"}
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    external-dns.alpha.kubernetes.io/hostname: web.example.test
    external-dns.alpha.kubernetes.io/ttl: "2"
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinities:
    - {affinityName: home, clusterNames: [member1]}
    - {affinityName: spare, clusterNames: [member2]}
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: everywhere}
spec:
  resourceSelectors: [{apiVersion: v1, kind: Service, name: web}]
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2") as running:
        yield running


@pytest.fixture
def server(tmp_path: Path) -> Generator[NameServer]:
    with name_server(tmp_path) as running:
        yield running


def give_address(fleet: Fleet, member: str) -> None:
    """Gives the member's Service an address at which this machine listens, as a cloud would: the member keeps it."""
    fleet.eventually(lambda: addresses(fleet, member) != [], f"{member} has the Service")
    status = {"status": {"loadBalancer": {"ingress": [{"ip": ADDRESSES[member]}]}}}
    core_of(fleet.kubeconfig, member).patch_namespaced_service_status("web", "default", status)


def addresses(fleet: Fleet, context: str) -> list[str]:
    if not fleet.exists("service", "web", context=context):
        return []
    status = fleet.get("service", "web", context=context).get("status", {})
    return [each["ip"] for each in status.get("loadBalancer", {}).get("ingress", [])]


def test_a_name_leads_to_where_the_application_serves_after_an_outage_and_through_a_drain(
    fleet: Fleet, server: NameServer
) -> None:
    port, control_plane = free_port(), core_of(fleet.kubeconfig, "karmada-apiserver")
    balancers = [
        LoadBalancer(name, address, port, core_of(fleet.kubeconfig, name), "app=web")
        for name, address in ADDRESSES.items()
    ]
    external = ExternalDns(server, control_plane)
    with running(*balancers, external):
        fleet.kubectl("create", "-f", "-", stdin=WEB)
        for member in ADDRESSES:
            give_address(fleet, member)
        await_name(fleet, external, "member1")
        client = Client(server, external, NAME, port)
        with running(client):
            await_answers(fleet, client, "member1")
            fleet.leeward("member", "stop", "member1")
            await_name(fleet, external, "member2")
            await_answers(fleet, client, "member2")
            fleet.leeward("member", "start", "member1")
            fleet.eventually(lambda: fleet.ready("member1")[0] == "True", "member1 is back")

            begun, updates = len(client.attempts), external.updates
            fleet.leeward("drain", "member2", "--timeout", "50s")
            await_name(fleet, external, "member1")
            await_answers(fleet, client, "member1")
    assert external.updates == updates + 1, "one update leads from the old address to the new one"
    assert_no_failure_outlives_its_answer(client.attempts[begun:], updates)


def await_name(fleet: Fleet, external: ExternalDns, member: str) -> None:
    """Waits until the name has the address of this cluster alone."""
    fleet.eventually(lambda: external.published.get(NAME) == [ADDRESSES[member]], f"the name leads to {member}")


def await_answers(fleet: Fleet, client: Client, member: str) -> None:
    """Waits until the client has had ten answers in a row from this cluster."""
    fleet.eventually(lambda: {each.answered for each in client.attempts[-10:]} == {member}, f"{member} answers")


def assert_no_failure_outlives_its_answer(attempts: list[Attempt], updates: int) -> None:
    """A client may fail with an answer that it has kept from before the update, and so for no longer than its TTL."""
    assert {each.answered for each in attempts} >= set(ADDRESSES), "it was served before and after"
    failed = [each for each in attempts if not each.answered]
    assert all(each.address == ADDRESSES["member2"] and each.updates == updates for each in failed), failed
    later = [each for each in attempts if each.updates > updates]
    assert later
    assert all(each.answered == "member1" for each in later)
