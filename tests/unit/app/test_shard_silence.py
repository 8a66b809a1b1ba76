"""A shard's process that hangs: nobody renews its Lease, and it is ended, so that it is started again."""

import asyncio
import json
import shutil
import signal
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import format_micro_time
from kubeclient import Client, Request, Response, Unreachable
from leeward.app import shard_processes
from leeward.app.flags.settings import Serving
from leeward.app.shard_processes import LEASES_MISSED, ShardProcesses, goes_silent
from leeward.runtime.sharding import LeaderSettings
from tests.transports import Sent

SETTINGS = LeaderSettings()
LEASE = "leeward-shard-0-of-2"
DEADLINE = (LEASES_MISSED + 1) * SETTINGS.lease_seconds
"""Seconds within which a Lease that is not renewed is found to be so."""


class Renewed(Sent):
    """A control plane with a Lease that is renewed every two seconds until `until`; `away`: when it does not answer."""

    def __init__(self, until: float, away: tuple[float, float] = (0, 0), *, exists: bool = True) -> None:
        super().__init__()
        self._until, self._away, self._exists = until, away, exists

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        now = asyncio.get_running_loop().time()
        if self._away[0] <= now < self._away[1]:
            raise Unreachable("connection refused")
        if not self._exists:
            return Response(404, b'{"kind": "Status", "code": 404}')
        renewed = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=min(now, self._until) // 2 * 2)
        spec = {"holderIdentity": "one", "renewTime": format_micro_time(renewed)}
        return Response(200, json.dumps({"metadata": {"name": LEASE}, "spec": spec}).encode())


@pytest.mark.parametrize(
    ("way", "last_seen"),
    [
        (Renewed(until=600), 600),
        (Renewed(until=0), 0),
        (Renewed(until=0, exists=False), 0),
        (Renewed(until=500, away=(500, 2000)), 2000),
        (Renewed(until=50, away=(80, 2000)), 2000),
    ],
)
def test_a_lease_is_silent_when_looks_in_a_row_find_it_as_it_was(way: Renewed, last_seen: float) -> None:
    """Or a control plane that was away would end all shards when it comes back."""

    async def story() -> float:
        await goes_silent(Client(way), LEASE, SETTINGS)
        return asyncio.get_running_loop().time()

    silent_at = run_virtual(story())
    assert LEASES_MISSED * SETTINGS.lease_seconds <= silent_at - last_seen <= DEADLINE + SETTINGS.lease_seconds


def test_a_lease_that_is_renewed_is_never_silent() -> None:
    async def story() -> None:
        async with Supervisor() as supervisor:
            client = Client(Renewed(until=float("inf"), away=(300, 900)))
            watching = supervisor.start(goes_silent(client, LEASE, SETTINGS), "watch")
            await asyncio.sleep(7200)
            assert not watching.done()

    run_virtual(story())


class Sleeping(ShardProcesses):
    def command(self, index: int) -> Sequence[str]:
        return shutil.which("sleep") or "sleep", "600"


def test_a_process_whose_lease_nobody_renews_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = list[str]()

    async def is_silent(_: Client, lease: str, __: LeaderSettings) -> None:
        looked_at.append(lease)

    monkeypatch.setattr(shard_processes, "goes_silent", is_silent)
    shards = Sleeping(2, Serving(), Client(Renewed(until=0)), SETTINGS)
    status = asyncio.run(shards._run_until_end(0))  # pyright: ignore[reportPrivateUsage]
    assert status == -signal.SIGTERM
    assert looked_at == [LEASE]
