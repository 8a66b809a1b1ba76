"""A control plane leads to its own members before a controller runs, whatever the store that it was given says."""

from collections.abc import Mapping

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from leeward.api.resource import CLUSTERS
from leeward.api.schema import custom_resource_definitions
from leeward.app.control_plane import lead_to_own_members
from tests.kubeserver.api_world import api_world

WRITTEN = {"east": "https://127.0.0.1:20001", "west": "", "other": "https://other.example"}


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ({"east": 30_001}, {**WRITTEN, "east": "https://127.0.0.1:30001"}),
        ({"east": 20_001, "west": 30_002, "new": 30_003}, WRITTEN),
        ({}, WRITTEN),
    ],
    ids=["of another time", "right, never offered, and not joined", "no member"],
)
def test_a_cluster_leads_to_where_the_member_of_its_name_is(ports: dict[str, int], expected: Mapping[str, str]) -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            client = Client(world.transport)
            for name, endpoint in WRITTEN.items():
                spec = {"syncMode": "Pull", **({"apiEndpoint": endpoint} if endpoint else {})}
                await client.create(CLUSTERS, {"metadata": {"name": name}, "spec": spec})
            before = {cluster.name: cluster for cluster in (await client.list(CLUSTERS)).items}
            await lead_to_own_members(client, ports)
            after = {cluster.name: cluster for cluster in (await client.list(CLUSTERS)).items}
            assert {name: cluster.spec.api_endpoint for name, cluster in after.items()} == expected
            changed = {name for name in after if after[name].metadata != before[name].metadata}
            assert changed == {name for name in WRITTEN if WRITTEN[name] != expected[name]}

    run_virtual(story())
