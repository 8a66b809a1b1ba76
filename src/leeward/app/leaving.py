"""Lets a cluster leave the control plane, in whatever state it is.

    alive          its Works are taken back first, so that nothing of ours stays in it but what others may live in
                   (Namespaces, CustomResourceDefinitions, volumes and their claims)
    dead, Pull     its controller takes the finalizers off its Works by itself
    dead, Push     stays until it is back; given up with `force`, and then what runs in it stays there

The cluster controller does the leaving; this asks for it, waits, and says what holds it up.

Karmada: pkg/karmadactl/unjoin, unregister; same, but that a cluster that is Ready is given the time to clean up also
with `force`, and that it takes Namespaces and the like along, with all that others keep in them.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NoReturn

from controller_runtime import delete_seen
from kubeapi.core import SECRETS, Secret
from kubeapi.loop import Clock
from kubeclient import Client, Conflict, Forbidden, NotFound
from leeward.api.cluster import Cluster
from leeward.api.names import CLUSTER_NAMESPACE, EXECUTION_CONTROLLER_FINALIZER, execution_space
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Work
from leeward.app.local import FleetError
from leeward.core.registration import Joined
from leeward.core.wording import first_of

POLL_SECONDS = 0.5
SHOWN = 5
"""Number of applications that are named before a cluster takes their only copies along."""

Mode = Literal["Push", "Pull"]
Tell = Callable[[str], None]


async def unjoin_cluster(
    client: Client,
    name: str,
    clock: Clock,
    *,
    force: bool,
    wait_seconds: float,
    tell: Tell = lambda _: None,
    mode: Mode | None = None,
) -> None:
    """Returns when the Cluster is gone. With a `mode`, only one in this mode goes.

    Raises: WorldError; FleetError when it does not go in time, or is in the other mode.
    """
    cluster = await _find(client, name)
    if mode is not None and cluster.spec.sync_mode != mode:
        _refuse_mode(cluster)
    secrets = await _secrets_of(client, cluster)
    if cluster.is_ready and (alone := await _alone_in(client, name)):
        shown = first_of(alone, SHOWN)
        tell(f"{name} takes the only copies of {shown} along; `leeward drain {name}` would move them first")
    if not await delete_seen(client, CLUSTERS, name, uid=cluster.metadata.uid):
        return
    if force and not cluster.is_ready:
        tell(f"{name} is not ready: what runs there is given up")
        await _give_up_works(client, name)
    elif not cluster.is_ready and cluster.spec.sync_mode == "Pull":
        tell(f"{name} is not ready: what runs there is given up, and runs on if the cluster lives")
    elif not cluster.is_ready:
        tell(f"{name} is not ready: waiting {wait_seconds:g} s for it to let go of what runs there")
    if not await _has_left(client, cluster, clock, wait_seconds) and force:
        tell(f"{name} has not cleaned up: what runs there is given up")
        await _give_up_works(client, name)
        await _has_left(client, cluster, clock, wait_seconds)
    await _refuse_what_stays(client, cluster)
    if await _joined_anew(client, name):
        tell(f"a cluster {name} has joined anew meanwhile, and keeps its credentials")
        return
    for secret in secrets:
        await _delete_secret(client, secret, tell)


def _refuse_mode(cluster: Cluster) -> NoReturn:
    """Raises: FleetError that names the verb for its mode."""
    way_out = Joined(cluster.name, cluster.spec.id, cluster.spec.sync_mode).way_out
    raise FleetError(f"cluster {cluster.name} is in {cluster.spec.sync_mode} mode: use `{way_out}`; nothing was done")


async def _find(client: Client, name: str) -> Cluster:
    try:
        return await client.get(CLUSTERS, name)
    except NotFound:
        known = ", ".join(sorted(c.name for c in (await client.list(CLUSTERS)).items)) or "none has joined"
        raise FleetError(f"there is no cluster {name!r}: choose from {known}") from None


async def _alone_in(client: Client, name: str) -> list[str]:
    """Applications of which all copies are in this cluster; none where that may not be read. Raises: WorldError."""
    found: list[str] = []
    with suppress(Forbidden):
        namespaced, others = await client.list(RESOURCE_BINDINGS), await client.list(CLUSTER_RESOURCE_BINDINGS)
        for binding in (*namespaced.items, *others.items):
            named = binding.spec.resource
            if {target.name for target in binding.spec.clusters} == {name}:
                found.append(f"{named.kind} {'/'.join(filter(None, (named.namespace, named.name)))}")
    return sorted(found)


async def _secrets_of(client: Client, cluster: Cluster) -> list[Secret]:
    """The credentials of the cluster, as they are before it leaves. Raises: WorldError."""
    found: list[Secret] = []
    for reference in (cluster.spec.secret_ref, cluster.spec.impersonator_secret_ref):
        if reference is not None and reference.namespace == CLUSTER_NAMESPACE:
            secret = await client.find(SECRETS, reference.name, CLUSTER_NAMESPACE)
            found += [secret] if secret is not None else []
    return found


async def _delete_secret(client: Client, secret: Secret, tell: Tell) -> None:
    """Deletes a Secret that has not changed since: a cluster of that name may be about to join anew with it. Raises:
    WorldError. Holds: S5."""
    uid, version = secret.metadata.uid, secret.metadata.resource_version
    try:
        await client.delete(SECRETS, secret.name, CLUSTER_NAMESPACE, uid=uid, resource_version=version)
    except NotFound:
        return
    except Conflict:
        tell(f"Secret {CLUSTER_NAMESPACE}/{secret.name} was changed while the cluster was leaving, and stays")


async def _has_left(client: Client, cluster: Cluster, clock: Clock, seconds: float) -> bool:
    deadline = clock.monotonic() + seconds
    while await _is_there(client, cluster):
        if clock.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


async def _joined_anew(client: Client, name: str) -> bool:
    """Tells whether there is a cluster of that name, once the one that was asked for is gone. Raises: WorldError."""
    return await client.find(CLUSTERS, name) is not None


async def _is_there(client: Client, cluster: Cluster) -> bool:
    """Tells whether this very Cluster still is; another one of its name may have joined since."""
    found = await client.find(CLUSTERS, cluster.name)
    return found is not None and found.metadata.uid == cluster.metadata.uid


async def _give_up_works(client: Client, name: str) -> None:
    """Takes the finalizer off all Works of the cluster, so that they go without being carried out."""
    space = execution_space(name)
    for work in (await client.list(WORKS, space)).items:
        if work.metadata.deletion_timestamp is None:
            await delete_seen(client, WORKS, work.name, space, uid=work.metadata.uid)
        await _take_finalizer_off(client, work)


async def _take_finalizer_off(client: Client, work: Work) -> None:
    """Takes our finalizer off this very Work, as it is by then. Raises: WorldError."""
    with suppress(NotFound):
        found = await client.get(WORKS, work.name, work.namespace)
        finalizers = [f for f in found.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
        if found.metadata.uid == work.metadata.uid and len(finalizers) < len(found.metadata.finalizers):
            patch, version = {"metadata": {"finalizers": finalizers or None}}, found.metadata.resource_version
            await client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)


async def _refuse_what_stays(client: Client, cluster: Cluster) -> None:
    if not await _is_there(client, cluster):
        return
    works = [work.name for work in (await client.list(WORKS, execution_space(cluster.name))).items]
    if works:
        raise FleetError(
            f"{cluster.name} is leaving, but what runs there cannot be removed while it is not ready "
            f"({len(works)} left, as {works[0]}): it leaves when it is back; give up what runs there with --force"
        )
    raise FleetError(
        f"{cluster.name} is leaving, but the control plane has not let it go yet: is its controller manager running? "
        f"(`kubectl describe cluster {cluster.name}`)"
    )
