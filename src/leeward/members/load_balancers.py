"""The cloud of a simulated cluster: LoadBalancer Services and Ingresses get addresses, which lead nowhere. One that has
an address keeps it, whoever gave it."""

from datetime import datetime, timedelta

from leeward.members.kinds import INGRESSES, SERVICES
from leeward.members.platform import Platform
from leeward.members.rules.load_balancer import (
    balanced_status,
    external_addresses,
    free_address,
    ingress_address,
    is_load_balancer,
)
from leeward.members.rules.pods import is_leaving
from leeward.members.settings import WorkloadSettings
from leeward.runtime.identity import Key

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
