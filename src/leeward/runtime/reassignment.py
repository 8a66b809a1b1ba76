"""Reassignment: a Work that is being deleted is wanted again.

    keep_objects    the Work goes, and leaves its objects in the member to the next Work of its name
    mark_removal    ... which is not wanted any more: that is taken back, and its objects go with it, or are held
    release_objects ... which is not wanted any more, and whose objects stay: they are nobody's here

A Work cannot be undeleted. So it is told to leave its objects in the member (`preserveResourcesOnDeletion`, which
agents of any version honour), it goes without touching them, and the next Work of its name takes them over as they are.
An annotation remembers that this was not what its policy asked for, so that it can be taken back.
"""

from datetime import timedelta

from leeward.api.names import (
    REASSIGNED_ANNOTATION,
    RELEASED_ANNOTATION,
    REMOVAL_HELD_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.client import Client, NotFound, NotServed
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
    if work.spec.preserve_resources_on_deletion or not await _stays(client, cluster_of_execution_space(work.namespace)):
        return work
    return await _set(client, work, preserve=True, mark="true")


async def mark_removal(
    client: Client,
    work: Work,
    *,
    held: bool = False,
    keeps_claims: bool = False,
    preserve: bool = False,
) -> Work:
    """Marks a Work that is being removed: its objects go with it, or are `held` in the member for now
    (`core.execution.removal`); or as long as claims belong to them there (`keeps_claims`). What a person has ended is
    held by nothing.

    A reassignment is taken back; `preserve` is what the policy then asks for. Raises: WorldError.
    """
    if REASSIGNED_ANNOTATION in work.metadata.annotations:
        work = await _set(client, work, preserve=preserve, mark=None)
    hold = "true" if held else None
    marks = {
        REMOVAL_HELD_ANNOTATION: "false" if work.is_ended_by_a_person else hold,
        KEEPS_CLAIMS_ANNOTATION: "true" if keeps_claims else None,
    }
    if all(work.metadata.annotations.get(mark) == value for mark, value in marks.items()):
        return work
    patch = {"metadata": {"annotations": marks}}
    return await client.patch(WORKS, work.name, patch, work.namespace, resource_version=work.metadata.resource_version)


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
    try:
        return not (await client.get(CLUSTERS, cluster)).is_being_deleted
    except NotServed:
        raise
    except NotFound:
        return False


async def _set(client: Client, work: Work, *, preserve: bool, mark: str | None) -> Work:
    patch = {
        "metadata": {"annotations": {REASSIGNED_ANNOTATION: mark}},
        "spec": {"preserveResourcesOnDeletion": preserve},
    }
    return await client.patch(WORKS, work.name, patch, work.namespace, resource_version=work.metadata.resource_version)
