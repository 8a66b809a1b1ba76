"""The ConfigMaps, Secrets and claims that Pods name, read when the first Pod names one.

A Pod that lacks something waits here until an object of its namespace comes or changes. A kubelet looks again after a
while; here it is at once.
"""

from collections.abc import Callable, Iterable
from itertools import islice

from controller_runtime import Informer, Key, key_of
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from kubeclient import Forbidden, Invalid
from kubecluster.kinds import CLAIMS, CONFIG_MAPS, PODS, SECRETS, STATEFUL_SETS
from kubecluster.platform import Platform, together
from kubecluster.rules.pods import MOST_AT_ONCE
from kubecluster.rules.references import Lookup, Source, sources_of

FAILED_CREATE = "FailedCreate"


async def create_pods(
    platform: Platform, resource: Resource[Manifest], owner: Manifest, pods: Iterable[Manifest]
) -> None:
    """Returns when all have been asked for, `MOST_AT_ONCE` at most. Raises: the error of the first that failed."""
    await together(*(_create(platform, resource, owner, pod) for pod in islice(pods, MOST_AT_ONCE)))


async def _create(platform: Platform, resource: Resource[Manifest], owner: Manifest, pod: Manifest) -> None:
    try:
        await platform.create(PODS, pod)
    except (Forbidden, Invalid) as error:
        component = f"{resource.kind.lower()}-controller"
        platform.warn(component, resource, owner, FAILED_CREATE, _told(resource, owner, pod, str(error)))
        raise


def _told(resource: Resource[Manifest], owner: Manifest, pod: Manifest, error: str) -> str:
    if resource is not STATEFUL_SETS:
        return f"Error creating: {error}"
    name, owner_name = pod["metadata"]["name"], owner["metadata"]["name"]
    return f"create Pod {name} in StatefulSet {owner_name} failed error: {error}"


_RESOURCES = {Source.CONFIG_MAP: CONFIG_MAPS, Source.SECRET: SECRETS, Source.CLAIM: CLAIMS}


class PodSources:
    """`retry` is called with the key of each Pod that is to look again."""

    def __init__(self, platform: Platform, retry: Callable[[Key], None]) -> None:
        self._platform = platform
        self._retry = retry
        self._informers: dict[Source, Informer[Manifest]] = {}
        self._waiting: dict[str, set[Key]] = {}

    async def lookup(self, pod: ReadOnlyManifest) -> Lookup:
        """Function that finds the objects that the Pod names. Raises: Unreachable."""
        namespace = key_of(pod).namespace
        for source in sources_of(pod):
            await self._informer(source).wait_synced()

        def find(source: Source, name: str) -> ReadOnlyManifest | None:
            return self._informers[source].get(name, namespace)

        return find

    def wait(self, pod: ReadOnlyManifest) -> None:
        """Has the Pod looked at again when something comes or changes in its namespace."""
        key = key_of(pod)
        self._waiting.setdefault(key.namespace, set()).add(key)

    def _informer(self, source: Source) -> Informer[Manifest]:
        if source not in self._informers:
            informer = self._informers[source] = self._platform.informer(_RESOURCES[source])
            informer.on_change(self._changed)
        return self._informers[source]

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if new is not None:
            for key in sorted(self._waiting.pop(key_of(new).namespace, ())):
                self._retry(key)
