"""The nodes controller: makes the Nodes of the cluster and keeps them as the settings ask."""

from datetime import datetime

from kubeapi.meta import Manifest
from leeward.members.kinds import NODES
from leeward.members.platform import Platform, together
from leeward.members.rules.node import is_simulated, node_name, render_node, restored_status
from leeward.members.settings import WorkloadSettings
from leeward.runtime.identity import Key, key_of


class NodesController:
    def __init__(self, platform: Platform, settings: WorkloadSettings) -> None:
        self._platform = platform
        self._capacity = settings.node_capacity
        self._indexes = {node_name(index): index for index in range(settings.nodes)}
        self._controller = platform.controller("nodes", self.reconcile)

    async def register(self) -> None:
        """Returns when all Nodes are there as they should be, and no other of ours is."""
        await together(*(self._register(name) for name in self._indexes))
        surplus = [node for node in self._platform.nodes.list() if self._is_surplus(node)]
        await together(*(self._platform.delete(NODES, node) for node in surplus))

    def start(self) -> None:
        self._platform.nodes.on_change(self._changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        if key.name in self._indexes:
            await self._register(key.name)
        return None

    async def _register(self, name: str) -> None:
        rendered = render_node(self._indexes[name], self._capacity, self._platform.clock.now())
        node = self._platform.nodes.get(name)
        if node is None:
            await self._platform.create(NODES, rendered)
        else:
            await self._platform.report(NODES, node, restored_status(node, rendered))

    def _is_surplus(self, node: Manifest) -> bool:
        return is_simulated(node) and node["metadata"]["name"] not in self._indexes

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        self._controller.queue.add(key_of(new or old))
