"""The record of a switch from Karmada, which a ConfigMap of the control plane holds and `adopt` and `hand-back` read.

The attacker may write ConfigMaps in `karmada-system`, or the record is damaged: it opens to far more than it weighs, is
no gzip, breaks off, holds something else, or is not there.

It must not fill the memory of who reads it, nor end in a trace; nothing is written, and the way out is said.
"""

import base64
import gzip
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from leeward.app.local.errors import FleetError
from leeward.app.migration.record import (
    MAX_UNPACKED_BYTES,
    ClusterRecord,
    SwitchRecord,
    read_clusters,
    read_record,
    write_cluster,
    write_record,
)
from tests.kubeserver.api_world import ApiWorld, api_world

MAPS = "/api/v1/namespaces/karmada-system/configmaps"
WHOLE = SwitchRecord(datetime(2026, 1, 1, tzinfo=UTC), clusters=("member1",))


def tell(story: Callable[[ApiWorld, Client], Awaitable[None]]) -> None:
    async def play() -> None:
        async with api_world() as world:
            await world.create("/api/v1/namespaces", {"metadata": {"name": "karmada-system"}})
            await story(world, Client(world.transport))

    run_virtual(play())


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (gzip.compress(b" " * (MAX_UNPACKED_BYTES + 1), 9, mtime=0), "more than 67108864 bytes when it is unpacked"),
        (gzip.compress(b"{}", mtime=0)[:-9], "it breaks off"),
        (b"", "it breaks off"),
        (b"no gzip at all", "incorrect header check"),
        (gzip.compress(b"{}", mtime=0)[:10] + bytes([7]) * 40, "Error -3"),
        (gzip.compress(b'{"startedAt": 1}', mtime=0), "startedAt"),
    ],
    ids=["bomb", "cut", "empty", "other", "damaged", "form"],
)
def test_a_record_that_is_none_is_told_and_fills_nothing(packed: bytes, why: str) -> None:
    async def story(world: ApiWorld, client: Client) -> None:
        data = {"record.json.gz": base64.b64encode(packed).decode()}
        await world.create(MAPS, {"metadata": {"name": "leeward-adoption"}, "binaryData": data})
        with pytest.raises(
            FleetError, match=r"karmada-system/leeward-adoption, field binaryData, cannot be read"
        ) as told:
            await read_record(client)
        assert why in str(told.value)
        assert "put it back from a backup" in str(told.value)

    tell(story)


@pytest.mark.parametrize("manifest", [{}, {"data": {"record.json.gz": "text"}}, {"binaryData": {"other": "AA=="}}])
def test_a_record_without_its_field_is_told(manifest: dict[str, Any]) -> None:
    async def story(world: ApiWorld, client: Client) -> None:
        await world.create(MAPS, {"metadata": {"name": "leeward-adoption"}, **manifest})
        with pytest.raises(FleetError, match="cannot be read"):
            await read_record(client)

    tell(story)


def test_a_cluster_whose_record_is_missing_stops_the_way_back() -> None:
    async def story(world: ApiWorld, client: Client) -> None:
        await write_record(client, WHOLE)
        read = await read_record(client)
        assert read is not None
        assert read == WHOLE
        with pytest.raises(FleetError, match=r"leeward-adoption\.member1 is missing"):
            await read_clusters(client, read)
        await write_cluster(client, ClusterRecord("member1"))
        assert await read_clusters(client, read) == [ClusterRecord("member1")]

    tell(story)
