"""Reassignment: a Work that is being deleted is wanted again.

    keep_objects    the Work goes, and leaves its objects in the member to the next Work of its name
    mark_removal    ... which is not wanted any more: that is taken back, and its objects go with it, or are held
    release_objects ... which is not wanted any more, and whose objects stay: they are nobody's here
    delete_work     a Work is deleted, and marked for its agent before

A Work cannot be undeleted. So it is told to leave its objects in the member (`preserveResourcesOnDeletion`, which
agents of any version honour), it goes at once without touching them, and the next Work of its name takes them over as
they are. Nobody waits for the agent: it may be away, and has no rights any more where the Work's namespace goes.
An annotation remembers that this was not what its policy asked for, so that it can be taken back while others keep the
Work.
"""

from datetime import timedelta

from kubeapi.meta import Manifest
from kubeclient import Client, NotFound, NotServed
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    REASSIGNED_ANNOTATION,
    RELEASED_ANNOTATION,
    REMOVAL_HELD_ANNOTATION,
    REMOVAL_ORDERED_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.core.execution.held_volumes import KEEPS_CLAIMS_ANNOTATION
from leeward.core.execution.release import is_released

FOREIGN_DELETION_REST = timedelta(seconds=5)
"""Time after which a Work that somebody else has deleted is made anew: `karmadactl unregister` deletes the Works of a
cluster until it finds none. Karmada makes such a Work anew when its binding changes."""


async def keep_objects(client: Client, work: Work) -> Work:
    """Keeps the objects of a Work that is being deleted and is wanted again; not of one whose cluster leaves the fleet.

    Whether it leaves only the API server itself can say: a cache may hear of the Work's deletion first.
    Raises: WorldError.
    """
    is_kept = bool(work.spec.preserve_resources_on_deletion)
    finalizers = [f for f in work.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
    if is_kept and len(finalizers) == len(work.metadata.finalizers):
        return work
    if not await _stays(client, cluster_of_execution_space(work.namespace)):
        return work
    patch: Manifest = {"metadata": {"finalizers": finalizers or None}, "spec": {"preserveResourcesOnDeletion": True}}
    if not is_kept:
        patch["metadata"]["annotations"] = {REASSIGNED_ANNOTATION: "true"}
    return await client.patch(WORKS, work.name, patch, work.namespace, resource_version=work.metadata.resource_version)


async def mark_removal(
    client: Client,
    work: Work,
    *,
    held: bool = False,
    keeps_claims: bool = False,
    preserve: bool = False,
    pulled: bool = False,
) -> Work:
    """Marks a Work that is being removed: its objects go with it, or are `held` in the member for now
    (`core.execution.removal`); or as long as claims belong to them there (`keeps_claims`). What a person has ended is
    held by nothing. Where its cluster is `pulled` the agent is told that this is an order.

    A reassignment is taken back; `preserve` is what the policy then asks for. Raises: WorldError.
    """
    if REASSIGNED_ANNOTATION in work.metadata.annotations:
        taken_back = {
            "metadata": {"annotations": {REASSIGNED_ANNOTATION: None}},
            "spec": {"preserveResourcesOnDeletion": preserve},
        }
        version = work.metadata.resource_version
        work = await client.patch(WORKS, work.name, taken_back, work.namespace, resource_version=version)
    hold = "true" if held else None
    marks = {
        REMOVAL_HELD_ANNOTATION: "false" if work.is_ended_by_a_person else hold,
        REMOVAL_ORDERED_ANNOTATION: "true" if pulled and not held else None,
        KEEPS_CLAIMS_ANNOTATION: "true" if keeps_claims else None,
    }
    if all(work.metadata.annotations.get(mark) == value for mark, value in marks.items()):
        return work
    patch = {"metadata": {"annotations": marks}}
    return await client.patch(WORKS, work.name, patch, work.namespace, resource_version=work.metadata.resource_version)


async def delete_work(client: Client, work: Work, *, pulled: bool) -> None:
    """Asks for the deletion of a Work in its present version; where its cluster is `pulled` the agent is told before
    that this is an order. Raises: WorldError."""
    if pulled and not (work.is_removal_ordered or work.spec.preserve_resources_on_deletion):
        patch, version = (
            {"metadata": {"annotations": {REMOVAL_ORDERED_ANNOTATION: "true"}}},
            work.metadata.resource_version,
        )
        work = await client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)
    uid, version = work.metadata.uid, work.metadata.resource_version
    try:
        await client.delete(WORKS, work.name, work.namespace, uid=uid, resource_version=version)
    except NotServed:
        raise
    except NotFound:
        return


async def release_objects(client: Client, work: Work) -> Work:
    """Has the objects of a Work stay, and lose the marks of ownership with their application. Raises: WorldError."""
    if is_released(work):
        return work
    patch = {
        "metadata": {"annotations": {REASSIGNED_ANNOTATION: None, RELEASED_ANNOTATION: "true"}},
        "spec": {"preserveResourcesOnDeletion": True},
    }
    return await client.patch(WORKS, work.name, patch, work.namespace, resource_version=work.metadata.resource_version)


async def _stays(client: Client, cluster: str) -> bool:
    found = await client.find(CLUSTERS, cluster)
    return found is not None and not found.is_being_deleted
