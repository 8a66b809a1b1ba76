"""The disruption controller: PodDisruptionBudgets say how many of their Pods may be evicted."""

from collections.abc import Iterable
from datetime import datetime

from controller_runtime import Key, key_of
from kubeapi.meta import Manifest
from kubecluster.kinds import BUDGETS, DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from kubecluster.platform import SETTLING, Platform, owner_key
from kubecluster.rules.deployment import replicas_of
from kubecluster.rules.disruption import (
    budget_status,
    counts_wanted,
    covered,
    disrupted_pods,
    expected_pods,
    failed_status,
    next_look,
)
from kubecluster.rules.owners import controller_of
from kubecluster.rules.pods import is_leaving

_OWNERS = (REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)


class DisruptionController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._budgets = platform.informer(BUDGETS)
        self._owners = {resource: platform.informer(resource) for resource in _OWNERS}
        self._deployments = platform.informer(DEPLOYMENTS)
        self._controller = platform.controller("disruption", self.reconcile)

    def start(self) -> None:
        self._platform.follow(BUDGETS, self._controller.queue)
        for pods_or_owners in (self._platform.pods, self._deployments, *self._owners.values()):
            pods_or_owners.on_change(self._changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        budget = self._budgets.get(key.name, key.namespace)
        if budget is None or is_leaving(budget):
            return None
        pods, now = covered(budget, self._platform.pods.list(key.namespace)), self._platform.clock.now()
        disrupted = disrupted_pods(budget, pods, now)
        try:
            expected = expected_pods(budget, pods, self._wanted(pods) if counts_wanted(budget) else 0)
            status = budget_status(budget, pods, expected, disrupted, now)
        except ValueError as error:
            status = failed_status(budget, str(error), now)
        await self._platform.report(BUDGETS, budget, status)
        return next_look(disrupted)

    def _wanted(self, pods: Iterable[Manifest]) -> int:
        """Number of Pods that the owners of these want; those without an owner do not count. Raises: ValueError."""
        wanted: dict[str, int] = {}
        for pod in pods:
            if controller_of(pod) is not None:
                owner = self._scaled(pod)
                wanted[owner["metadata"]["uid"]] = replicas_of(owner)
        return sum(wanted.values())

    def _scaled(self, pod: Manifest) -> Manifest:
        """Object that says how many Pods there are of this kind: the Deployment of a ReplicaSet. Raises: ValueError."""
        for resource, owners in self._owners.items():
            key = owner_key(pod, resource)
            owner = owners.get(key.name, key.namespace) if key is not None else None
            above = owner_key(owner, DEPLOYMENTS) if owner is not None else None
            if above is not None:
                owner = self._deployments.get(above.name, above.namespace)
            if owner is not None:
                return owner
        raise ValueError(f'found no controllers for pod "{pod["metadata"]["name"]}"')

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        """A moment later, so that a budget looks at many changes at once."""
        namespace = (new or old or {})["metadata"].get("namespace", "")
        for budget in self._budgets.list(namespace):
            self._controller.queue.add_at(key_of(budget), self._platform.clock.now() + SETTLING)
