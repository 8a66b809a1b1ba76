"""Keepers of the Clusters: Karmada's aggregated API server, behind an APIService, or a definition of ours.

A move writes every Cluster as it is, under a new uid, where it will be kept from then on, and compares. It never
deletes a Cluster where it was kept before: the aggregated API server still has its own when the way back is taken.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from controller_runtime import delete_seen, patch_seen
from kubeapi.meta import Manifest
from kubeclient import AlreadyExists, Client, Conflict, WorldError
from leeward.api.names import FLAPPING_TAINT
from leeward.app.local import FleetError
from leeward.app.migration.kinds import API_SERVICES, CLUSTER_MANIFESTS, CLUSTERS_SERVICE
from leeward.app.migration.survey import clusters_service, names_service, served_clusters

WAIT_SECONDS, POLL_SECONDS = 60.0, 0.5
TIMES_IN_A_ROW, ATTEMPTS = 6, 5
_SEVERAL = "an API server of several does not know yet who keeps the Clusters; wait a minute, and run it again"
OUR_PREFIX = "leeward.dev/"
_BORN_WITH = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")

Clusters = Mapping[str, Manifest]
"""Clusters by name."""


async def serve_from_definition(client: Client, foreign_uids: Collection[str]) -> None:
    """Takes the APIService of the aggregated API server away; returns when that one answers no more.

    Raises: WorldError; FleetError when it still does after `WAIT_SECONDS`.
    """
    if await clusters_service(client) is not None:
        await delete_seen(client, API_SERVICES, CLUSTERS_SERVICE, only=names_service)
    if not await _answers(client, lambda clusters: not _has_any(clusters, foreign_uids)):
        raise FleetError(
            f"the Clusters are not served by their definition after {WAIT_SECONDS:g} s: see "
            f"`kubectl get apiservice {CLUSTERS_SERVICE} -o yaml`, and run `leeward adopt` again"
        )


async def serve_from_aggregated(client: Client, service: Manifest, foreign_uids: Collection[str]) -> None:
    """Puts the APIService back; returns when the aggregated API server shows the Clusters that it had.

    Where it does not in time, the Clusters are served as they were before. Raises: WorldError; FleetError.
    """
    previous = await client.get(API_SERVICES, CLUSTERS_SERVICE)
    own = [each["metadata"]["uid"] for each in await served_clusters(client) or ()]
    await _put_service(client, service)
    if await _answers(client, lambda clusters: not foreign_uids or _has_any(clusters, foreign_uids)):
        return
    await _put_service(client, previous)
    await _answers(client, lambda clusters: not own or _has_any(clusters, own))
    raise FleetError(
        f"Karmada's aggregated API server does not show its Clusters after {WAIT_SECONDS:g} s; the Clusters are served "
        "by Leeward's definition, as before: start karmada-aggregated-apiserver, and run `leeward hand-back` again"
    )


async def current(client: Client) -> dict[str, Manifest]:
    """The Clusters as they are served now, by name. Raises: WorldError; FleetError where nobody serves them."""
    clusters = await served_clusters(client)
    if clusters is None:
        raise FleetError("nobody serves the Clusters: see `kubectl get apiservices`, and run it again")
    return {each["metadata"]["name"]: each for each in clusters}


async def write_all(
    client: Client, wanted: Sequence[Manifest], *, with_marks: bool, left: Collection[str] = ()
) -> Clusters:
    """Makes each of these Clusters be served so: spec, status, labels, annotations, finalizers. Gives them as written.

    `with_marks`: with what is ours, too. `left`: uids of the place that the Clusters have left; of several API servers,
    one may not know that yet.

    Raises: WorldError; FleetError when one is not as it should be, and none but those before it was written.
    """
    written = dict[str, Manifest]()
    for manifest in wanted:
        name = manifest["metadata"]["name"]
        body = _body(manifest, with_marks=with_marks)
        try:
            there = await client.create(CLUSTER_MANIFESTS, {key: body[key] for key in body if key != "status"})
        except AlreadyExists:
            there = await _bring_to(client, name, body, left)
        if status := body.get("status"):
            await _write_status(client, there, status)
        written[name] = await client.get(CLUSTER_MANIFESTS, name)
        if written[name].get("spec") != body["spec"]:
            raise FleetError(f"cluster {name}, field spec, is not as it was after it was written: nothing was deleted")
    served = await current(client)
    for name, manifest in written.items():
        _refuse_left(manifest, left)
        if name not in served or served[name]["metadata"]["uid"] != manifest["metadata"]["uid"]:
            raise FleetError(f"cluster {name} was written and is not served: {_SEVERAL}")
    return written


async def release_all(client: Client, clusters: Iterable[Manifest]) -> None:
    """Takes the finalizers off these very ones: the definition can go then, with its objects. Raises: WorldError."""
    for cluster in clusters:
        await patch_seen(client, CLUSTER_MANIFESTS, cluster, _release, only_seen=True)


def _release(cluster: Manifest) -> Manifest | None:
    return {"metadata": {"finalizers": None}} if cluster["metadata"].get("finalizers") else None


async def delete_cluster(client: Client, name: str, uid: str) -> None:
    """Asks for the deletion of this very one; who keeps it carries that out. Raises: WorldError."""
    await delete_seen(client, CLUSTER_MANIFESTS, name, uid=uid)


async def _bring_to(client: Client, name: str, body: Manifest, left: Collection[str]) -> Manifest:
    """Updates the one that was seen; a write of an agent meanwhile is looked at again."""
    attempts = ATTEMPTS
    while True:
        attempts -= 1
        found = await client.get(CLUSTER_MANIFESTS, name)
        _refuse_left(found, left)
        metadata = {**found["metadata"], **{key: value for key, value in body["metadata"].items() if key != "name"}}
        try:
            return await client.update(CLUSTER_MANIFESTS, {**found, "metadata": metadata, "spec": body["spec"]}, name)
        except Conflict:
            if not attempts:
                raise


async def _write_status(client: Client, cluster: Manifest, status: Manifest) -> None:
    await patch_seen(
        client, CLUSTER_MANIFESTS, cluster, lambda _: {"status": status}, subresource="status", only_seen=True
    )


def _refuse_left(manifest: Manifest, left: Collection[str]) -> None:
    if manifest["metadata"]["uid"] in left:
        raise FleetError(f"cluster {manifest['metadata']['name']} is still where it was: {_SEVERAL}")


def _body(manifest: Manifest, *, with_marks: bool) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _BORN_WITH}
    if not with_marks:
        annotations: Mapping[str, str] = metadata.get("annotations", {})
        metadata["annotations"] = {key: annotations[key] for key in annotations if not key.startswith(OUR_PREFIX)}
    spec: dict[str, Any] = dict(manifest["spec"])
    if not with_marks and "taints" in spec:
        spec["taints"] = [taint for taint in spec["taints"] if taint.get("key") != FLAPPING_TAINT]
        spec = {key: value for key, value in spec.items() if key != "taints" or value}
    status: dict[str, Any] = dict(manifest.get("status", {}))
    if not with_marks and "conditions" in status:
        status["conditions"] = [c for c in status["conditions"] if not str(c.get("type")).startswith(OUR_PREFIX)]
    return {"metadata": metadata, "spec": spec, "status": status}


async def _put_service(client: Client, service: Manifest) -> None:
    """Replaces the present one: a server makes one of its own as soon as there is none."""
    for attempt in range(ATTEMPTS):
        found = await client.get(API_SERVICES, CLUSTERS_SERVICE)
        metadata = {
            "name": CLUSTERS_SERVICE,
            "uid": found["metadata"]["uid"],
            "resourceVersion": found["metadata"]["resourceVersion"],
            "labels": service["metadata"].get("labels", {}),
            "annotations": service["metadata"].get("annotations", {}),
        }
        try:
            await client.update(API_SERVICES, {"metadata": metadata, "spec": service["spec"]}, CLUSTERS_SERVICE)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


async def _answers(client: Client, holds: Callable[[Sequence[Manifest]], bool]) -> bool:
    """Tells whether the Clusters are served so within `WAIT_SECONDS`, some times in a row: it takes a while until
    others serve them, and longer until all of several API servers know it."""
    in_a_row = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(WAIT_SECONDS):
            while in_a_row < TIMES_IN_A_ROW:
                try:
                    clusters = await served_clusters(client)
                    in_a_row = in_a_row + 1 if clusters is not None and holds(clusters) else 0
                except WorldError:
                    in_a_row = 0
                if in_a_row < TIMES_IN_A_ROW:
                    await asyncio.sleep(POLL_SECONDS)
    return in_a_row >= TIMES_IN_A_ROW


def _has_any(clusters: Sequence[Manifest], uids: Collection[str]) -> bool:
    return any(cluster["metadata"]["uid"] in uids for cluster in clusters)
