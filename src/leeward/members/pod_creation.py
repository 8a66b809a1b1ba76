"""Creating Pods in the name of their controller: a refusal is an event of the owner, as every workload tells it."""

from collections.abc import Iterable

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.client import Forbidden, Invalid
from leeward.members.kinds import PODS, STATEFUL_SETS
from leeward.members.platform import Platform, together

FAILED_CREATE = "FailedCreate"


async def create_pods(
    platform: Platform, resource: Resource[Manifest], owner: Manifest, pods: Iterable[Manifest]
) -> None:
    """Returns when all have been asked for. Raises: the error of the first that failed."""
    await together(*(_create(platform, resource, owner, pod) for pod in pods))


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
