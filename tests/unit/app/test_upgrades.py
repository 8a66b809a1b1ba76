"""Data of earlier versions opens in this one, or is refused with the way out; and as it was, it is kept."""

import asyncio
import json
import re
import sqlite3
import zlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from kubeapi.files import write_file
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.resource import Resource
from kubeclient import Client
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from leeward import __version__
from leeward.answers.reading import read_outages
from leeward.api.outage import OutagePhase, StepKind
from leeward.api.resource import CLUSTERS, OUTAGES, PROPAGATION_POLICIES, RESOURCE_BINDINGS, WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local.archive import STORE
from leeward.app.local.backups import restore
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import load_fleet, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.starting import UNNAMED, keep_before_upgrade
from tests.recorded_format import RELEASES, unpack_store

OUTAGES_RECORDED = 3
NOW = datetime(2026, 11, 23, 16, 0, tzinfo=UTC)
Story = Callable[[Client], Awaitable[None]]


def checksum_of(revision: int, key: str, value: bytes) -> int:
    """Checksum as a store writes it beside a live record."""
    return zlib.crc32(value, zlib.crc32(f"{revision} 0 {key}".encode()))


def written_by(release: str, root: Path) -> Layout:
    """A data directory of that version, with keys that open nothing."""
    layout = Layout(root)
    for key in (layout.pki / "ca.crt", layout.pki / "ca.key", layout.control_plane / SIGNING_KEY_FILE):
        write_file(key, b"no key")
    unpack_store(release, layout)
    return layout


def served(layout: Layout, story: Story) -> None:
    """Plays the story with the store of the control plane behind an API server of today."""

    async def run() -> None:
        async with Supervisor() as supervisor:
            store = await Store.open(SqliteMedium(layout.control_plane / STORE), supervisor)
            server = await start_apiserver(
                store,
                SystemClock(),
                Randomness(),
                supervisor,
                crds=custom_resource_definitions(),
                metrics=CollectorRegistry(),
                collectors=False,
            )
            await story(Client(InProcessTransport(server)))
            await supervisor.close()
            await store.close()

    asyncio.run(run())


async def forget_outages(client: Client) -> None:
    for outage in (await client.list(OUTAGES)).items:
        await client.delete(OUTAGES, outage.name, uid=outage.metadata.uid)


async def all_outages_are_there(client: Client) -> None:
    assert len((await client.list(OUTAGES)).items) == OUTAGES_RECORDED


@pytest.fixture(params=RELEASES)
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> Layout:
    return written_by(request.param, tmp_path / "fleet")


def test_what_an_earlier_version_has_written_opens_and_can_be_written_on(layout: Layout) -> None:
    async def story(client: Client) -> None:
        counts: list[tuple[Resource[Any], int]] = [
            (CLUSTERS, 3),
            (OUTAGES, OUTAGES_RECORDED),
            (PROPAGATION_POLICIES, 2),
            (RESOURCE_BINDINGS, 2),
        ]
        for resource, count in counts:
            assert len((await client.list(resource)).items) == count, resource.kind
        works = (await client.list(WORKS)).items
        assert {work.metadata.namespace for work in works} == {"karmada-es-member1", "karmada-es-member2"}
        for outage in (await client.list(OUTAGES)).items:
            assert outage.status.steps[0].kind is StepKind.FAILED_PROBE
            patch = {"metadata": {"annotations": {"seen": "yes"}}, "status": {"phase": str(OutagePhase.OVER)}}
            over = await client.patch(OUTAGES, outage.name, patch)
            assert (over.status.phase, over.spec, over.status.steps) == (
                OutagePhase.OVER,
                outage.spec,
                outage.status.steps,
            )

    assert load_fleet(layout).timing == "fast"
    served(layout, story)


def test_an_outage_of_a_later_version_is_left_alone_and_the_others_are_told(layout: Layout) -> None:
    """The state after a way back to an earlier version: what cannot be read is named, and hides nothing."""
    path = layout.control_plane / STORE
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        key, value, revision = connection.execute(
            "SELECT key, value, revision FROM records WHERE key LIKE '/leeward.dev/outages/%' LIMIT 1"
        ).fetchone()
        later = bytes(value).replace(b'"FailedProbe"', b'"OfALaterOne"')
        assert later != value
        connection.execute(
            "UPDATE records SET value = ?, checksum = ? WHERE revision = ?",
            (later, checksum_of(revision, key, later), revision),
        )

    async def story(client: Client) -> None:
        state = await read_outages(client, SystemClock())
        told = {outage.name for outage in state.recorded.outages}
        assert len(told) == OUTAGES_RECORDED - 1
        assert key.rpartition("/")[2] not in told
        assert [reason for reason in state.recorded.unseen if key.rpartition("/")[2] in reason]

    served(layout, story)


def test_what_another_version_has_written_is_kept_and_can_be_put_back(layout: Layout, tmp_path: Path) -> None:
    before = msgspec.structs.replace(load_fleet(layout), leeward=__version__)
    assert keep_before_upgrade(layout, before, NOW) == ""
    earlier = msgspec.structs.replace(before, leeward="0.0.9")
    save_fleet(layout, earlier)
    said = keep_before_upgrade(layout, earlier, NOW)
    kept = layout.upgrades / "from-0.0.9-20261123-160000" / f"{CONTROL_PLANE}.tar"
    assert said.startswith(f"leeward 0.0.9 ran this fleet last, and this is {__version__}: ")
    assert f"leeward restore {kept}" in said
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    whole = (layout.control_plane / STORE).read_bytes()
    served(layout, forget_outages)
    restore(layout, "", kept)
    served(layout, all_outages_are_there)
    assert (layout.control_plane / STORE).read_bytes() != whole, "revisions go on ahead"
    assert load_fleet(layout) == earlier


def test_a_fleet_of_before_versions_were_written_down_is_kept_too(layout: Layout) -> None:
    content = json.loads(layout.fleet_file.read_text())
    del content["leeward"]
    layout.fleet_file.write_text(json.dumps(content))
    said = keep_before_upgrade(layout, load_fleet(layout), NOW)
    assert said.startswith(f"leeward {UNNAMED} ran this fleet last")
    assert len(list(layout.upgrades.iterdir())) == 1


def test_nothing_is_begun_where_no_copy_can_be_kept(layout: Layout) -> None:
    earlier = msgspec.structs.replace(load_fleet(layout), leeward="0.0.9")
    layout.upgrades.write_text("a file")
    with pytest.raises(FleetError, match=rf"{re.escape(str(layout.upgrades))}.* cannot be made, to keep a copy in"):
        keep_before_upgrade(layout, earlier, NOW)


def test_a_store_of_a_later_version_is_refused_before_anything_is_kept(layout: Layout) -> None:
    with closing(sqlite3.connect(layout.control_plane / STORE)) as connection:
        connection.execute("PRAGMA user_version = 99")
    earlier = msgspec.structs.replace(load_fleet(layout), leeward="9.0.0")
    with pytest.raises(FleetError, match=r"has schema version 99, .*run the version that wrote it"):
        keep_before_upgrade(layout, earlier, NOW)
    assert list(layout.upgrades.rglob("*.tar")) == []


def test_the_name_of_a_version_leads_to_no_other_path(layout: Layout) -> None:
    save_fleet(layout, msgspec.structs.replace(load_fleet(layout), leeward="../../x"))
    with pytest.raises(FleetError, match=r"fleet\.json is damaged \(leeward: '../../x' is no version\)"):
        load_fleet(layout)
