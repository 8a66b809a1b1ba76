"""Assembly of a process's controllers: its clients, its control plane, its way to members and estimators.

Whatever they write, to the control plane and to members, goes through the leases that the process works on the strength
of (Holds: S8). It starts nothing.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from controller_runtime import Led, fenced
from kubeapi.core import Secret
from kubeapi.loop import Randomness, Supervisor, SystemClock
from kubeclient import Client, RequestPace, Transport, limited, paced
from kubeclient.ordering import OrderedTransport
from leeward.api.cluster import Cluster
from leeward.api.rules.member_addresses import DEFAULT_RULES
from leeward.app.connect import transport_to
from leeward.app.estimating import estimator_channels
from leeward.app.flags.settings import ComponentSettings
from leeward.lua.jail import ProcessJail
from leeward.manager.choice import Choice
from leeward.manager.control_plane import ControllerManager
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.interpreter_webhooks import HttpsCalls
from leeward.runtime.metrics import Metrics
from leeward.runtime.work_share import WorkShare


class Assembly:
    """Maker of the controllers of one process. `addresses` are the rules for those of members, `pace` is that of what
    goes to the control plane."""

    def __init__(
        self, settings: ComponentSettings, transport: Transport, pace: RequestPace | None, metrics: Metrics
    ) -> None:
        self.clock, self.randomness = SystemClock(), Randomness()
        self.addresses = DEFAULT_RULES
        self._settings = settings
        self._transport = transport
        self._pace = pace
        self._metrics = metrics

    def make(
        self, name: str, led: Led[str], choice: Choice, share: WorkShare, supervisor: Supervisor, ends: AsyncExitStack
    ) -> ControllerManager:
        """Makes those controllers of `choice` that are of the share. `led` are the leases by name."""
        client = Client(paced(OrderedTransport(fenced(self._transport, led)), self._pace), name)
        jail = ProcessJail(supervisor)
        calls = HttpsCalls(self.addresses)
        plane = ControlPlane.of(
            client, self.clock, self.randomness, self._metrics, supervisor, jail, call_webhook=calls, share=share
        )
        channels = estimator_channels(client, self._settings.estimators)
        if channels is not None:
            ends.push_async_callback(channels.close)
        settings = replace(self._settings.manager, controllers=choice, cluster_estimator=channels)
        return ControllerManager(plane, self._connector(led, name), settings)

    def _connector(self, led: Led[str], name: str) -> Callable[[Cluster, Secret | None], Client]:
        """Function by which Push members are reached."""

        def connect(cluster: Cluster, secret: Secret | None) -> Client:
            transport = transport_to(cluster, secret, self.addresses)
            return Client(limited(fenced(transport, led), self._settings.limits.members), name)

        return connect
