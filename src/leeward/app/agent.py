"""The agent of a Pull member as a process: one replica of it."""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, replace

from controller_runtime import LeaderElector, Leadership, fenced
from kubeapi.loop import Randomness, Supervisor, SystemClock
from kubeclient import IMPATIENT, MEMBER_BOUNDS, Client, RequestPace, paced
from kubeclient.connection import Connection, transport_of
from kubeclient.incluster import load_in_cluster
from kubeclient.kubeconfig import holds_one_user, load
from kubeclient.replaceable import ReplaceableTransport
from kubeclient.updating import UpdatingTransport
from leeward.agent.agent import Agent
from leeward.agent.registration import Registration
from leeward.agent.replica import AgentReplica
from leeward.api.cluster import ClusterSpec
from leeward.api.names import leader_identity, lease_of_agent
from leeward.api.rules.member_addresses import AddressRules
from leeward.app.config import AgentConfig
from leeward.app.hub_addresses import HubAddresses
from leeward.app.probes import Probes, served
from leeward.app.renewal import CertificateRenewal, KubeconfigSecret
from leeward.app.reported_secrets import SecretReporter, with_secrets
from leeward.lua.jail import ProcessJail
from leeward.manager.member_side import MemberSide
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.interpreter_webhooks import HttpsCalls
from leeward.runtime.member_identity import obeying
from leeward.runtime.metrics import Metrics

_NAME = "leeward-agent"


async def run_agent(config: AgentConfig) -> None:
    """Works until cancelled. Raises: KubeconfigError; OSError when an address is taken."""
    metrics = Metrics()
    probes = Probes(metrics)
    hubs = HubAddresses(
        lambda: load(config.control_plane_kubeconfig, config.control_plane_context), config.control_plane_servers
    )

    def ready() -> None:
        probes.ready = True
        config.ready()

    async with served(probes, config.settings.serving):
        while True:
            process = _Process(config, metrics, await hubs.choose())
            try:
                await _work(config, process, hubs, ready)
            finally:
                await process.close()


async def _work(config: AgentConfig, process: "_Process", hubs: HubAddresses, ready: Callable[[], None]) -> None:
    """Works for one hub, until another is to be followed."""
    async with Supervisor(f"agent of {config.cluster}") as supervisor:
        if config.renews_certificate and holds_one_user(config.control_plane_kubeconfig):
            supervisor.start(process.renewal().run(), "certificate-renewal")
        if config.reports:
            supervisor.start(process.reporter().run(), "secrets")
        working = supervisor.start(process.replica().run(ready), "work")
        following = supervisor.start(hubs.until_another(), "hub")
        await asyncio.wait((working, following), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()


class _Process:
    """Ways of the process to the control plane and to the member.

    Leases are renewed over connections of their own: behind the writes of a large failover they would end unrenewed.
    """

    def __init__(self, config: AgentConfig, metrics: Metrics, home: Connection) -> None:
        self._config = config
        self._metrics = metrics
        self._clock, self._randomness = SystemClock(), Randomness()
        self._home = home
        self._control_plane = ReplaceableTransport(transport_of(self._home))
        self._leases = ReplaceableTransport(transport_of(self._home))
        self._way = _member(config)
        self._member = transport_of(self._way)
        limits = config.settings.limits
        self._pace, self._pace_of_member = RequestPace.of(limits.control_plane), RequestPace.of(limits.members)

    def replica(self) -> AgentReplica:
        config = self._config
        described = ClusterSpec(sync_mode="Pull", **asdict(config.described))
        described = with_secrets(described, config.cluster, config.reports)
        registration = Registration(config.cluster, self._unfenced(), self._reached(), self._clock, described)
        return AgentReplica(registration, self._make, self._elector(), self._metrics)

    def reporter(self) -> SecretReporter:
        config, authority = self._config, self._way.certificate_authority
        return SecretReporter(config.cluster, self._unfenced(), self._reached(), authority, config.reports)

    def renewal(self) -> CertificateRenewal:
        """Each replica renews the certificate that it is known by."""
        config, kubeconfig = self._config, self._config.control_plane_kubeconfig
        name = config.kubeconfig_secret
        secret = KubeconfigSecret(self._reached(), name) if name else None
        return CertificateRenewal(
            self._unfenced(), self._clock, config.cluster, kubeconfig, self._home, self._take, secret
        )

    async def close(self) -> None:
        for transport in (self._control_plane, self._leases, self._member):
            await transport.close()

    async def _take(self, renewed: Connection) -> None:
        await self._control_plane.replace(transport_of(renewed))
        await self._leases.replace(transport_of(renewed))

    def _reached(self) -> Client:
        return Client(paced(self._member, self._pace_of_member), _NAME)

    def _unfenced(self) -> Client:
        return Client(UpdatingTransport(paced(self._control_plane, self._pace)), _NAME)

    def _elector(self) -> LeaderElector | None:
        if not self._config.settings.leader.enabled:
            return None
        lease = lease_of_agent(self._config.cluster)
        client = Client(UpdatingTransport(self._leases), f"{_NAME}/leader-election").with_patience(IMPATIENT)
        identity = leader_identity(socket.gethostname(), self._randomness.uid())
        return LeaderElector(client, lease, identity, self._clock, self._randomness, self._config.settings.leader)

    def _make(self, supervisor: Supervisor, leadership: Leadership | None) -> Agent:
        config, led = self._config, {_NAME: leadership}
        client = Client(UpdatingTransport(paced(fenced(self._control_plane, led), self._pace)), _NAME)
        jail = ProcessJail(supervisor)
        calls = HttpsCalls(AddressRules(config.settings.limits.member_addresses))
        plane = ControlPlane.of(client, self._clock, self._randomness, self._metrics, supervisor, jail, calls)
        fence = HubFence(plane.server.identity)
        reached = obeying(Client(paced(fenced(self._member, led), self._pace_of_member), _NAME), fence)
        member = Member.of(config.cluster, reached, self._randomness, supervisor, plane.limits, fence)
        return Agent(plane, member, MemberSide.of(config.settings.manager))


def _member(config: AgentConfig) -> Connection:
    if config.member_kubeconfig is None:
        return replace(load_in_cluster(os.environ), bounds=MEMBER_BOUNDS)
    return replace(load(config.member_kubeconfig, config.member_context), bounds=MEMBER_BOUNDS)
