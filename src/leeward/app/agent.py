"""The agent of a Pull member as a process."""

import asyncio

from leeward.agent.agent import Agent
from leeward.app.config import AgentConfig
from leeward.client import Client
from leeward.client.connection import transport_of
from leeward.client.kubeconfig import load
from leeward.loop.clock import SystemClock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.runtime.events import EventRecorder
from leeward.runtime.metrics import Metrics
from leeward.runtime.plane import ControlPlane, Member, Server


async def run_agent(config: AgentConfig) -> None:
    """Works until cancelled. Raises: KubeconfigError."""
    clock, randomness = SystemClock(), Randomness()
    control_plane = load(config.control_plane_kubeconfig, config.control_plane_context)
    client = Client(transport_of(control_plane), "leeward-agent")
    member_client = Client(transport_of(load(config.member_kubeconfig, config.member_context)), "leeward-agent")
    try:
        async with Supervisor(f"agent of {config.cluster}") as supervisor:
            server = Server.of(client, randomness, supervisor)
            events = EventRecorder(client, clock, randomness)
            plane = ControlPlane(server, clock, randomness, Metrics(), events, supervisor)
            member = Member(config.cluster, Server.of(member_client, randomness, supervisor), supervisor)
            await Agent(plane, member, config.timing).start()
            config.ready()
            await asyncio.Event().wait()
    finally:
        await client.close()
        await member_client.close()
