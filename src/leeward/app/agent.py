"""The agent of a Pull member as a process."""

import asyncio
import os
from dataclasses import asdict, replace

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from leeward.agent.agent import Agent
from leeward.api.cluster import ClusterSpec
from leeward.app.config import AgentConfig
from leeward.app.probes import Probes, served
from leeward.app.renewal import CertificateRenewal
from leeward.client import Client, Transport
from leeward.client.bounds import MEMBER_BOUNDS
from leeward.client.connection import Connection, transport_of
from leeward.client.incluster import load_in_cluster
from leeward.client.kubeconfig import holds_one_user, load
from leeward.client.limits import Limit, limited
from leeward.client.replaceable import ReplaceableTransport
from leeward.client.updating import UpdatingTransport
from leeward.lua.jail import ProcessJail
from leeward.manager.member_side import MemberSide
from leeward.runtime.metrics import Metrics
from leeward.runtime.plane import ControlPlane, Member


async def run_agent(config: AgentConfig) -> None:
    """Works until cancelled. Raises: KubeconfigError; OSError when an address is taken."""
    clock, randomness, metrics = SystemClock(), Randomness(), Metrics()
    limits, probes = config.settings.limits, Probes(metrics)
    control_plane = load(config.control_plane_kubeconfig, config.control_plane_context)
    transport = ReplaceableTransport(_transport(control_plane, limits.control_plane))
    client = Client(UpdatingTransport(transport), "leeward-agent")
    member_client = Client(_transport(_member(config), limits.members), "leeward-agent")
    try:
        async with served(probes, config.settings.serving), Supervisor(f"agent of {config.cluster}") as supervisor:
            plane = ControlPlane.of(client, clock, randomness, metrics, supervisor, ProcessJail(supervisor))
            member = Member.of(config.cluster, member_client, randomness, supervisor)
            if config.renews_certificate and holds_one_user(config.control_plane_kubeconfig):
                supervisor.start(_renewal(config, client, transport, control_plane).run(), "certificate-renewal")
            described = ClusterSpec(sync_mode="Pull", **asdict(config.described))
            await Agent(plane, member, MemberSide.of(config.settings.manager), described).start()
            probes.ready = True
            config.ready()
            await asyncio.Event().wait()
    finally:
        await client.close()
        await member_client.close()


def _transport(connection: Connection, limit: Limit) -> Transport:
    return limited(transport_of(connection), limit)


def _renewal(
    config: AgentConfig, client: Client, transport: ReplaceableTransport, connection: Connection
) -> CertificateRenewal:
    async def take(renewed: Connection) -> None:
        await transport.replace(_transport(renewed, config.settings.limits.control_plane))

    return CertificateRenewal(client, SystemClock(), config.cluster, config.control_plane_kubeconfig, connection, take)


def _member(config: AgentConfig) -> Connection:
    if config.member_kubeconfig is None:
        return replace(load_in_cluster(os.environ), bounds=MEMBER_BOUNDS)
    return replace(load(config.member_kubeconfig, config.member_context), bounds=MEMBER_BOUNDS)
