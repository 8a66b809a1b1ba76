"""One cluster joins once, also where the API server is not ours: what the webhook asks the control plane."""

from typing import Any

import pytest

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client
from kubeserver.handlers.initializing import InitializingStorage
from kubeserver.inprocess import InProcessTransport
from leeward.api.schema import custom_resource_definitions
from leeward.webhook.store_rules import PATIENCE, SECONDS, judge_joining
from tests.kubeserver.api_world import api_world
from tests.transports import Deaf
from tests.verdicts import assert_judged, assert_not_told

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
OWN = "the control plane's own"


def cluster(name: str, cluster_id: str) -> Manifest:
    kind = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    return {**kind, "metadata": {"name": name}, "spec": {"syncMode": "Push", "id": cluster_id}}


def request(new: Manifest, old: Manifest | None = None, plural: str = "clusters") -> dict[str, Any]:
    operation = "UPDATE" if old else "CREATE"
    return {"operation": operation, "object": new, "oldObject": old, "resource": {"resource": plural}}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (request(cluster("b", "2")), ""),
        (request(cluster("b", "")), ""),
        (request(cluster("a", "1")), ""),
        (request(cluster("b", "1"), cluster("b", "1")), ""),
        (request(cluster("b", "1"), plural="propagationpolicies"), ""),
        (request(cluster("b", "1")), "joined already, as a: use that one, or `leeward unjoin a` first"),
        (request(cluster("b", "1"), cluster("b", "2")), "joined already, as a: "),
        (request(cluster("b", OWN)), "is the control plane itself"),
    ],
)
def test_only_an_id_that_is_new_here_and_taken_is_refused(asked: dict[str, Any], says: str) -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            await world.create(CLUSTERS, cluster("a", "1"))
            own_id = (await world.get("/api/v1/namespaces/kube-system")).body["metadata"]["uid"]
            spec = asked["object"]["spec"]
            spec["id"] = own_id if spec["id"] == OWN else spec["id"]
            assert_judged(await judge_joining(asked, Client(world.transport)), says)

    run_virtual(story())


@pytest.mark.parametrize(("hangs", "says"), [(False, "connection refused"), (True, f"no answer within {SECONDS:g} s")])
def test_what_cannot_be_told_is_refused_for_now(says: str, *, hangs: bool) -> None:
    async def story() -> None:
        assert_not_told(await judge_joining(request(cluster("b", "1")), Client(Deaf(hangs=hangs))), says)

    run_virtual(story())


def test_while_the_control_plane_puts_off_what_is_asked_the_writer_is_told_when_to_come_again() -> None:
    """429 with the seconds, which kubectl and every other client obeys; the write was not carried out."""

    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            for seconds, says in ((1.5, ""), (30.0, "storage is (re)initializing (429 Too Many Requests, ")):
                storage = InitializingStorage(world.server, world.server, VirtualClock(), seconds)
                client = Client(InProcessTransport(storage)).with_patience(PATIENCE)
                answer = await judge_joining(request(cluster("b", "1")), client)
                assert_judged(answer, says, 429)
                assert answer is None or answer["status"]["details"] == {"retryAfterSeconds": 1}

    run_virtual(story())
