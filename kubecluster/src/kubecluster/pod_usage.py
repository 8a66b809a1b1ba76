"""Usage of the cluster's Pods, as annotations of them and of their owners say it."""

from collections.abc import Iterable

from kubeapi.meta import Manifest
from kubecluster.kinds import DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from kubecluster.platform import Platform, owner_key
from kubecluster.rules.pods import is_active, is_ready
from kubecluster.rules.usage import Usage, usage_of

_OWNERS = (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICATION_CONTROLLERS, JOBS)


class PodUsage:
    def __init__(self, platform: Platform) -> None:
        self._owners = {resource: platform.informer(resource) for resource in _OWNERS}

    def of(self, pods: Iterable[Manifest]) -> list[tuple[Manifest, Usage]]:
        """Usage of those of these Pods that are ready. A load is shared by as many of them as have the same owner."""
        ready = [(pod, self._owners_of(pod)) for pod in pods if is_active(pod) and is_ready(pod)]
        tops = [owners[-1]["metadata"]["uid"] if owners else "" for _, owners in ready]
        return [(pod, usage_of(pod, owners, tops.count(top))) for (pod, owners), top in zip(ready, tops, strict=True)]

    def _owners_of(self, manifest: Manifest) -> list[Manifest]:
        """Owners that control it, and one another, the nearest first."""
        found: list[Manifest] = []
        while (owner := self._owner_of(found[-1] if found else manifest)) is not None:
            found.append(owner)
        return found

    def _owner_of(self, manifest: Manifest) -> Manifest | None:
        for resource, owners in self._owners.items():
            key = owner_key(manifest, resource)
            if key is not None:
                return owners.get(key.name, key.namespace)
        return None
