"""One switch at a time: whoever adopts a control plane, or hands it back, holds a Lease in `kube-system` meanwhile.

It is not in `karmada-system`: there, servers before 1.28 ask our webhook about new Leases, which a hand-back finds
stopped. Two of them beside each other would read each other's half for the whole, and write a record that lacks what
the other has taken away. A switch that was killed holds it for a quarter of a minute more. Holds: S8.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from controller_runtime import FencedTransport, LeaderElector, NotLeading, delete_seen
from kubeapi.core import LEASES, NAMESPACES
from kubeapi.loop import Clock, Randomness, Supervisor
from kubeapi.transport import Transport
from kubeclient import IMPATIENT, AlreadyExists, Client, NotFound, WorldError
from leeward.api.names import KUBE_SYSTEM_NAMESPACE, SWITCH_LEASE, SYSTEM_NAMESPACE, leader_identity
from leeward.app.local import FleetError
from leeward.runtime.sharding import LeaderSettings

Switch = Callable[[Client], Awaitable[None]]
SETTINGS = LeaderSettings(namespace=KUBE_SYSTEM_NAMESPACE)
WAIT_SECONDS = SETTINGS.lease_seconds + 3 * SETTINGS.retry_seconds
"""Seconds after which the Lease of a switch that was killed has certainly run out."""
_LOST = (
    f"the Lease {SWITCH_LEASE} could not be renewed in time, so that another switch may be at work by now: see whether "
    "the control plane answers, and run it again"
)


async def alone(
    transport: Transport, clock: Clock, randomness: Randomness, switch: Switch, tell: Callable[[str], None]
) -> None:
    """Does `switch` while nobody else does one; when the Lease is lost meanwhile, it is begun again, as it can be.
    `tell` is given whom it waits for.

    Raises: FleetError when another one goes on; WorldError; errors of `switch`.
    """
    client = Client(transport)
    if holder := await _make_lease(client):
        tell(f"waiting until {holder} has ended, which switches this control plane, or was killed a moment ago")
    identity = leader_identity(socket.gethostname(), randomness.uid())
    elector = LeaderElector(client.with_patience(IMPATIENT), SWITCH_LEASE, identity, clock, randomness, SETTINGS)
    led = _LedSwitch(switch, Client(FencedTransport(transport, elector.leadership)))
    try:
        async with Supervisor("switch") as supervisor:
            leading = supervisor.start(elector.lead(led.run), "switch")
            waiting = supervisor.start(led.wait(), "wait")
            await asyncio.wait((leading, waiting), return_when=asyncio.FIRST_COMPLETED)
            if leading.done():
                leading.result()
        if not led.begun.is_set():
            raise FleetError(await _who_else(client))
        for failure in led.failures:
            raise failure
    finally:
        with suppress(WorldError):
            await delete_seen(
                client, LEASES, SWITCH_LEASE, KUBE_SYSTEM_NAMESPACE, only=lambda lease: not lease.spec.holder_identity
            )


class _LedSwitch:
    """Switch whose end is told here, and is no failure of a task."""

    def __init__(self, switch: Switch, client: Client) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.failures: list[Exception] = []
        self._switch = switch
        self._client = client

    async def run(self) -> None:
        """Runs it, and holds the Lease on until cancelled."""
        self.begun.set()
        try:
            await self._switch(self._client)
        except NotLeading:
            self.failures.append(FleetError(_LOST))
        except Exception as error:
            self.failures.append(error)
        self.ended.set()
        await asyncio.Event().wait()

    async def wait(self) -> None:
        """Returns when it has ended, or has not begun in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                await self.begun.wait()
        if self.begun.is_set():
            await self.ended.wait()


async def _make_lease(client: Client) -> str:
    """Makes the Lease, held by nobody, so that who may not is told at once. Gives who holds it.

    Raises: WorldError, FleetError.
    """
    try:
        await client.get(NAMESPACES, SYSTEM_NAMESPACE)
    except NotFound as error:
        raise FleetError(f"there is no namespace {SYSTEM_NAMESPACE}: this is no control plane of Karmada's") from error
    with suppress(AlreadyExists):
        await client.create(LEASES, {"metadata": {"name": SWITCH_LEASE}, "spec": {}}, KUBE_SYSTEM_NAMESPACE)
    return (await client.get(LEASES, SWITCH_LEASE, KUBE_SYSTEM_NAMESPACE)).spec.holder_identity


async def _who_else(client: Client) -> str:
    said = "another `leeward adopt` or `leeward hand-back` is at work"
    with suppress(NotFound):
        lease = await client.get(LEASES, SWITCH_LEASE, KUBE_SYSTEM_NAMESPACE)
        said += f" ({lease.spec.holder_identity})"
    return f"{said}: let it end, and look again with --plan"
