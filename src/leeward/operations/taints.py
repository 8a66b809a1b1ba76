"""Changing a Cluster: its taints (cordon, drain, any other), and a confirmed identity. Nobody's taint is lost.

Karmada: pkg/karmadactl/cordon, pkg/karmadactl/taint; same taints, and the drain is ours.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from kubeapi.codec import to_wire
from kubeapi.core import Taint
from kubeapi.meta import Manifest
from kubeclient import Client, Conflict, NotFound
from leeward.api.cluster import Cluster
from leeward.api.names import CONFIRMED_IDENTITY_ANNOTATION, DRAIN_TAINT, UNSCHEDULABLE_TAINT
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.cluster_identity import replaced_by
from leeward.operations.errors import OperationFailed

ATTEMPTS, PAUSE_SECONDS = 6, 0.05
"""Writes of one change, and the first pause between them, which doubles: a busy control plane writes Clusters, too."""

CORDON = Taint(UNSCHEDULABLE_TAINT, "NoSchedule")
DRAIN = Taint(DRAIN_TAINT, "NoExecute")
NO_ANNOTATIONS: Mapping[str, str | None] = {}

TaintChange = Callable[[Sequence[Taint]], Sequence[Taint]]


async def change_taints(
    client: Client, cluster: str, change: TaintChange, annotations: Mapping[str, str | None] = NO_ANNOTATIONS
) -> bool:
    """Makes the taints what `change` makes of them; whether that, or an annotation, was a change.

    Both are one write. An annotation that is None goes. Raises: OperationFailed, WorldError.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            await asyncio.sleep(PAUSE_SECONDS * 2**attempt)
        found = await find_cluster(client, cluster)
        before, present = found.spec.taints, found.metadata.annotations
        after = tuple(change(before))
        if after == before and all(present.get(name) == value for name, value in annotations.items()):
            return False
        patch: Manifest = {"spec": {"taints": to_wire(after) or None}}
        if annotations:
            patch["metadata"] = {"annotations": dict(annotations)}
        try:
            await client.patch(CLUSTERS, cluster, patch, resource_version=found.metadata.resource_version)
        except Conflict:
            continue
        return True
    raise OperationFailed(f"cluster {cluster} is being changed by others all the time: try again")


async def find_cluster(client: Client, name: str) -> Cluster:
    """Raises: OperationFailed when there is none, WorldError."""
    try:
        return await client.get(CLUSTERS, name)
    except NotFound:
        pass
    try:
        joined = sorted(cluster.name for cluster in (await client.list(CLUSTERS)).items)
    except NotFound:
        raise no_control_plane() from None
    raise OperationFailed(f"there is no cluster {name!r}: choose from {', '.join(joined) or 'none has joined'}")


def no_control_plane() -> OperationFailed:
    return OperationFailed(
        f"this is no control plane of Leeward or Karmada, it does not serve {CLUSTERS.group_resource}: "
        "choose another --context"
    )


def with_taint(taint: Taint) -> TaintChange:
    """A change that adds a taint where there is none with its key and effect."""
    return lambda taints: taints if any(is_same(taint, each) for each in taints) else (*taints, taint)


def without_taints(*unwanted: Taint) -> TaintChange:
    return lambda taints: tuple(each for each in taints if not any(is_same(taint, each) for taint in unwanted))


def is_same(one: Taint, other: Taint) -> bool:
    """Tells whether one would take the other's place: key and effect are equal."""
    return (one.key, one.effect) == (other.key, other.effect)


async def confirm_replaced(client: Client, name: str) -> str:
    """The identity of a rebuilt cluster that is confirmed by this; empty where none waits. No later one is confirmed.

    Raises: OperationFailed, WorldError.
    """
    for _ in range(ATTEMPTS):
        cluster = await find_cluster(client, name)
        identity = replaced_by(cluster)
        if not identity:
            return ""
        patch = {"metadata": {"annotations": {CONFIRMED_IDENTITY_ANNOTATION: identity}}}
        try:
            await client.patch(CLUSTERS, name, patch, resource_version=cluster.metadata.resource_version)
        except Conflict:
            continue
        return identity
    raise OperationFailed(f"cluster {name} is being changed by others all the time: try again")
