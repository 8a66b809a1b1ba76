"""The ReplicaSet controller: as many Pods as wanted, and a status that says how many of them are ready.

It serves ReplicationControllers, too, as in Kubernetes: they differ in their selector, which is not read here.
"""

from datetime import datetime

from kubeapi.errors import ApiError
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.client import Forbidden, Invalid
from leeward.members.kinds import PODS
from leeward.members.platform import Platform, together
from leeward.members.pod_creation import create_pods
from leeward.members.rules.pods import is_leaving, next_available_at
from leeward.members.rules.replica_set import decide_pods, replica_set_status
from leeward.members.rules.templates import render_pod
from leeward.runtime.identity import Key


class ReplicaSetController:
    def __init__(self, platform: Platform, resource: Resource[Manifest]) -> None:
        self._platform = platform
        self._resource = resource
        self._sets = platform.informer(resource)
        self._controller = platform.controller(resource.kind.lower(), self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(self._resource, queue)
        self._platform.follow_owned(PODS, self._resource, queue)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        replica_set = self._sets.get(key.name, key.namespace)
        if replica_set is None or is_leaving(replica_set):
            return None
        platform = self._platform
        refusal = await self._resize(replica_set)
        pods, now = platform.owned_pods.of(replica_set), platform.clock.now()
        status = replica_set_status(replica_set, pods, now, failure=str(refusal or ""))
        await platform.report(self._resource, replica_set, status)
        if refusal is not None:
            raise refusal
        return next_available_at(pods, replica_set, now)

    async def _resize(self, replica_set: Manifest) -> ApiError | None:
        """Creates and deletes Pods. Returns why the server takes no Pod of this template; None when it takes all."""
        platform = self._platform
        steps = decide_pods(replica_set, platform.owned_pods.of(replica_set))
        pods = (render_pod(replica_set) for _ in range(steps.create))
        try:
            await together(
                create_pods(platform, self._resource, replica_set, pods),
                *(platform.delete_pod(pod) for pod in steps.delete),
            )
        except (Forbidden, Invalid) as refusal:
            return refusal
        return None
