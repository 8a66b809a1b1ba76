"""One replica of an agent: of several beside a member one works, which holds the Lease `karmada-agent-NAME`.

    registers ──▶ waits for the lease ──▶ works ──▶ has lost the lease: all ends ──▶ waits again
                     ▲                                                                  │
                     └──────────────────────────────────────────────────────────────────┘

What it writes while it works, in the control plane and in the member, goes through the fence of its lease (Holds: S8).
Who waits renews no heartbeat either: that says that somebody looks after the cluster.

Karmada: cmd/agent/app, with the same Lease, in the namespace of `--leader-elect-resource-namespace`; so a Karmada agent
and one of ours wait for each other. Same, but for what a lost lease ends: there the process, here its work.
"""

import asyncio
from collections.abc import Callable

from controller_runtime import LeaderElector, Leadership
from kubeapi.loop import Supervisor
from leeward.agent.agent import Agent
from leeward.agent.registration import Registration
from leeward.api.names import lease_of_agent
from leeward.runtime.metrics import Metrics

Make = Callable[[Supervisor, Leadership | None], Agent]
"""Makes an agent whose plane and member end with the supervisor, and which writes while the lease holds."""


class AgentReplica:
    """One replica. Without an `elector` it works at once, and nothing keeps a second one from working."""

    def __init__(self, registration: Registration, make: Make, elector: LeaderElector | None, metrics: Metrics) -> None:
        self._registration = registration
        self._make = make
        self._elector = elector
        self._metrics = metrics

    async def run(self, ready: Callable[[], None]) -> None:
        """Goes on until cancelled. `ready` is called once the cluster has joined; then it works, or stands by."""
        await self._registration.join()
        elector, lease = self._elector, lease_of_agent(self._registration.cluster)
        self._metrics.process.leads(lease, lambda: elector is None or elector.leadership.holds)
        ready()
        if elector is None:
            await self._work()
        else:
            await elector.lead(self._work)

    async def _work(self) -> None:
        try:
            async with Supervisor(f"work of the agent of {self._registration.cluster}") as supervisor:
                self._make(supervisor, self._elector and self._elector.leadership).work()
                await asyncio.Event().wait()
        finally:
            self._metrics.forget_state()
