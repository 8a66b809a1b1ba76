"""One look at a fleet where not everything can be seen."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime

import pytest

from kubeapi.errors import error_of
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.resource import Resource
from kubeclient import Client, Forbidden, Request, Response, Transport, Unreachable
from leeward.api.names import CLUSTER_POLICY_ID_LABEL
from leeward.api.schema import custom_resource_definitions
from leeward.operations import OperationFailed
from leeward.operations.findings import Finding, Severity
from leeward.operations.identities import find_nameless
from leeward.operations.status import FleetStatus, Found, look_at_fleet
from tests.kubeserver.api_world import api_world

GROUP = "policy.karmada.io/v1alpha1"
POLICIES = Resource.of_manifests(GROUP, "propagationpolicies", "PropagationPolicy", namespaced=True)
CLUSTER_POLICIES = Resource.of_manifests(
    GROUP, "clusterpropagationpolicies", "ClusterPropagationPolicy", namespaced=False
)


class Faulty:
    """A way to a server that fails from the request on whose path ends so."""

    def __init__(self, inner: Transport, failing: str) -> None:
        self._inner = inner
        self._failing = failing
        self.asked: list[str] = []

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.asked.append(request.path)
        if request.path.endswith(self._failing):
            raise Unreachable("no answer")
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def test_who_does_not_answer_is_not_asked_again() -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            way = Faulty(world.transport, "/clusters")
            seen = await look_at_fleet(Client(way), VirtualClock())
        assert way.asked == ["/readyz", "/readyz/room", "/apis/cluster.karmada.io/v1alpha1/clusters"]
        assert (seen.clusters, seen.applications, seen.brake, seen.findings) == (None, None, None, [])
        assert seen.unseen[:2] == ["clusters: no answer", "bindings: not asked any more"]

    run_virtual(story())


def test_more_sources_have_their_say_and_may_fail() -> None:
    async def orphans(client: Client, now: datetime) -> Found:
        del client, now
        finding = Finding(Severity.NEEDS_SOMEBODY, "orphans", "2 objects in members have no Work")
        return Found([finding], ["orphans in b: no answer"])

    async def forbidden(client: Client, now: datetime) -> Found:
        del client, now
        error = error_of(403, b"you may not")
        assert isinstance(error, Forbidden)
        raise error

    async def look() -> FleetStatus:
        async with api_world(crds=custom_resource_definitions()) as world:
            return await look_at_fleet(Client(world.transport), VirtualClock(), (forbidden, orphans))

    async def story() -> None:
        seen = await look()
        assert [finding.about for finding in seen.findings] == ["orphans"]
        assert seen.unseen == ["what else there is: you may not", "orphans in b: no answer"]
        assert (seen.clusters, seen.applications) == ([], 0)

    run_virtual(story())


def test_a_server_without_clusters_is_no_control_plane() -> None:
    async def story() -> None:
        async with api_world() as world:
            with pytest.raises(OperationFailed, match="this is no control plane of Leeward or Karmada"):
                await look_at_fleet(Client(world.transport), VirtualClock())

    run_virtual(story())


def test_policies_that_admission_gave_no_identity_are_told_of() -> None:
    """A kube-apiserver without `leeward webhook` beside it gives none."""
    spec = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}

    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            client = Client(world.transport)
            found = await look_at_fleet(client, VirtualClock(), (find_nameless,))
            assert found.findings == []
            known = {"metadata": {"name": "known", "labels": {CLUSTER_POLICY_ID_LABEL: "an-id"}}, "spec": spec}
            await client.create(CLUSTER_POLICIES, known)
            assert (await look_at_fleet(client, VirtualClock(), (find_nameless,))).findings == []
            await client.create(CLUSTER_POLICIES, {"metadata": {"name": "all"}, "spec": spec})
            await client.create(POLICIES, {"metadata": {"name": "web"}, "spec": spec}, "default")
            (finding,) = (await look_at_fleet(client, VirtualClock(), (find_nameless,))).findings
        assert finding.sentence == (
            "2 policies have no identity: does `leeward webhook` run? It gives each one when that is written again: "
            "default/web, all"
        )

    run_virtual(story())
