"""The machines of a simulated cluster: its Nodes, which are kept as the settings ask, and the addresses of LoadBalancer
Services and Ingresses, which lead nowhere. One that has an address keeps it, whoever gave it."""

from datetime import datetime, timedelta

from controller_runtime import Key, key_of
from kubeapi.meta import Manifest
from kubecluster.kinds import INGRESSES, NODES, SERVICES
from kubecluster.platform import Platform, together
from kubecluster.rules.load_balancer import (
    balanced_status,
    external_addresses,
    free_address,
    ingress_address,
    is_load_balancer,
)
from kubecluster.rules.node import is_simulated, node_name, render_node, restored_status
from kubecluster.rules.pods import is_leaving
from kubecluster.settings import WorkloadSettings


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


RETRY = timedelta(minutes=1)


class LoadBalancerController:
    """One worker for Services, so that no two get the same address."""

    def __init__(self, platform: Platform, settings: WorkloadSettings) -> None:
        self._platform = platform
        self._addresses = settings.load_balancer_cidr
        self._services = platform.informer(SERVICES)
        self._ingresses = platform.informer(INGRESSES)
        self._service_controller = platform.controller("service-lb", self.reconcile_service, workers=1)
        self._ingress_controller = platform.controller("ingress", self.reconcile_ingress)

    def start(self) -> None:
        self._platform.follow(SERVICES, self._service_controller.queue)
        self._platform.follow(INGRESSES, self._ingress_controller.queue)
        self._service_controller.start(self._platform.supervisor)
        self._ingress_controller.start(self._platform.supervisor)

    async def reconcile_service(self, key: Key) -> datetime | None:
        service = self._services.get(key.name, key.namespace)
        if service is None or is_leaving(service) or is_load_balancer(service) == bool(external_addresses(service)):
            return None
        address = free_address(self._addresses, self._services.list()) if is_load_balancer(service) else None
        if address is None and is_load_balancer(service):
            message = f"Error syncing load balancer: {self._addresses}: no free address"
            self._platform.warn("service-controller", SERVICES, service, "SyncLoadBalancerFailed", message)
            return self._platform.clock.now() + RETRY
        await self._platform.report(SERVICES, service, balanced_status(service, address))
        return None

    async def reconcile_ingress(self, key: Key) -> datetime | None:
        ingress = self._ingresses.get(key.name, key.namespace)
        if ingress is not None and not is_leaving(ingress) and not external_addresses(ingress):
            await self._platform.report(INGRESSES, ingress, balanced_status(ingress, ingress_address(self._addresses)))
        return None
