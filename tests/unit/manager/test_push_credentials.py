"""Credentials of Push clusters: one that changes concerns its own cluster."""

import asyncio
import base64
from collections.abc import Awaitable, Callable

from kubeapi.core import NAMESPACES, SECRETS, Secret
from kubeapi.status import Status
from kubeclient import Client, NotServed, Request, WorldError
from leeward.api.cluster import Cluster
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.manager.choice import Choice
from leeward.manager.member_side import MemberSide
from leeward.manager.push import LOOK_AGAIN, PushClusters
from tests.unit.controllers.desk import Desk, play

MEMBERS = 20
NOTHING = MemberSide(controllers=Choice((), frozenset()))
"""No controller of a member runs."""


ELSEWHERE = "default"


async def join(desk: Desk, name: str, namespace: str = CLUSTER_NAMESPACE) -> None:
    data = {"token": base64.b64encode(b"one").decode()}
    await desk.client.create(SECRETS, {"metadata": {"name": name}, "data": data}, namespace)
    reference = {"namespace": namespace, "name": name}
    spec = {"syncMode": "Push", "apiEndpoint": f"https://{name}.example", "secretRef": reference}
    await desk.client.create(CLUSTERS, {"metadata": {"name": name}, "spec": spec})


def test_a_credential_that_changes_has_its_own_cluster_connected_anew_and_no_other_looked_at() -> None:
    connected: list[str] = []

    def connect(cluster: Cluster, secret: Secret | None) -> Client:
        assert secret is not None
        connected.append(f"{cluster.name}: {secret.data['token'].decode()}")
        return Client(desks[0].line.inner)

    def reconciled(desk: Desk) -> float:
        labels = {"controller": "push-clusters", "result": "success"}
        return desk.plane.metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0

    desks: list[Desk] = []
    counts: list[float] = []

    async def story(desk: Desk) -> None:
        desks.append(desk)
        await desk.client.create(NAMESPACES, {"metadata": {"name": CLUSTER_NAMESPACE}})
        for number in range(MEMBERS):
            await join(desk, f"member{number}")
        push = PushClusters(desk.plane, connect, NOTHING)
        push.start()
        await asyncio.sleep(5)
        counts.append(reconciled(desk))
        data = {"token": base64.b64encode(b"other").decode()}
        await desk.client.patch(SECRETS, "member7", {"data": data}, CLUSTER_NAMESPACE)
        await asyncio.sleep(5)
        counts.append(reconciled(desk))
        await push.close()

    play(story)
    assert len(connected) == MEMBERS + 1
    assert connected[-1] == "member7: other"
    assert counts[1] - counts[0] == 1


def tokens_of_one_elsewhere(story: Callable[[Desk], Awaitable[None]]) -> list[str]:
    """Tokens with which a cluster is connected in turn whose Secret is in another namespace than those of others."""
    connected: list[str] = []

    async def played(desk: Desk) -> None:
        def connect(_: Cluster, secret: Secret | None) -> Client:
            connected.append(secret.data["token"].decode() if secret is not None else "")
            return Client(desk.line.inner)

        await desk.client.create(NAMESPACES, {"metadata": {"name": CLUSTER_NAMESPACE}})
        await join(desk, "member1", ELSEWHERE)
        push = PushClusters(desk.plane, connect, NOTHING)
        push.start()
        await asyncio.sleep(5)
        await story(desk)
        await push.close()

    play(played)
    return connected


def test_a_credential_elsewhere_that_changes_is_seen_though_its_cluster_says_nothing_new() -> None:
    async def story(desk: Desk) -> None:
        data = {"token": base64.b64encode(b"other").decode()}
        await desk.client.patch(SECRETS, "member1", {"data": data}, ELSEWHERE)
        await asyncio.sleep(LOOK_AGAIN.total_seconds() + 1)

    assert tokens_of_one_elsewhere(story) == ["one", "other"]


def test_a_credential_elsewhere_that_is_not_served_leaves_its_cluster_connected() -> None:
    async def story(desk: Desk) -> None:
        def not_served(request: Request) -> WorldError | None:
            return NotServed(Status(code=404)) if "/secrets/" in request.path else None

        desk.wire.refuse = not_served
        await asyncio.sleep(LOOK_AGAIN.total_seconds() + 1)

    assert tokens_of_one_elsewhere(story) == ["one"]
