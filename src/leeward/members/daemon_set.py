"""The DaemonSet controller: one Pod on every node that is ready and wanted."""

from datetime import datetime

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.core import Node
from leeward.members.kinds import DAEMON_SETS, PODS
from leeward.members.platform import Platform, together
from leeward.members.pod_creation import create_pods
from leeward.members.rules.daemon_set import daemon_set_status, decide_steps, eligible_nodes, render_daemon_pod
from leeward.members.rules.pods import is_leaving, next_available_at
from leeward.runtime.identity import Key, key_of


class DaemonSetController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._sets = platform.informer(DAEMON_SETS)
        self._controller = platform.controller("daemonset", self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(DAEMON_SETS, queue)
        self._platform.follow_owned(PODS, DAEMON_SETS, queue)
        self._platform.nodes.on_change(self._node_changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        daemon_set = self._sets.get(key.name, key.namespace)
        if daemon_set is None or is_leaving(daemon_set):
            return None
        platform, now = self._platform, self._platform.clock.now()
        nodes = eligible_nodes(daemon_set, [from_wire(node, Node) for node in platform.nodes.list()])
        steps = decide_steps(daemon_set, nodes, platform.owned_pods.of(daemon_set), now)
        await together(
            create_pods(
                platform, DAEMON_SETS, daemon_set, (render_daemon_pod(daemon_set, node) for node in steps.create)
            ),
            *(platform.delete_pod(pod) for pod in steps.delete),
        )
        pods, now = platform.owned_pods.of(daemon_set), platform.clock.now()
        await platform.report(DAEMON_SETS, daemon_set, daemon_set_status(daemon_set, nodes, pods, now))
        return next_available_at(pods, daemon_set, now)

    def _node_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        for daemon_set in self._sets.list():
            self._controller.queue.add(key_of(daemon_set))
