"""Orphans of a control plane that was restored, or that a cluster has left: all of them are listed, and no others, and
go when that is asked for. So are Works whose binding it has forgotten.

What a user does who reads `leeward orphans` when everything works again.
"""

import asyncio

from controller_runtime import Key
from kubeapi.meta import annotations_of
from kubeclient import Client
from kubecluster.network import LinkedTransport
from kubeserver.inprocess import ADMIN
from leeward.api.cluster import Cluster
from leeward.api.names import BINDING_NAME_ANNOTATION
from leeward.operations.orphan_works import OrphanWork, delete_orphan_work
from leeward.operations.orphans import Orphan, Reach, StillServes, delete_orphan, find_orphans
from leeward.sim.world import World
from simulator.histories.checkers import Scene
from simulator.histories.checkers.restores import copies_of
from simulator.histories.convergence import forgotten_works, selected
from simulator.histories.ground_truth import KINDS
from simulator.histories.named_objects import needed_in

CARRY_OUT_SECONDS = 10.0
"""Seconds until what a Work has made is taken out of its member, and a Namespace has ended."""


async def clear_orphans(world: World, scene: Scene) -> list[str]:
    """Lists them and has them deleted. Returns what is wrong with the list. Holds: L3."""

    async def reach(cluster: Cluster) -> Client:
        return Client(LinkedTransport(world.member(cluster.name).place, ADMIN), "leeward")

    found = await find_orphans(world.client, reach)
    seen = (*found.orphans, *found.doubtful, *found.preserved)
    listed = {(orphan.cluster, orphan.resource.kind, orphan.key) for orphan in seen}
    unknown = {
        (member, *what)
        for member in world.members
        for what, work in copies_of(scene, member)
        if work not in scene.truth.works
    }
    problems = [f"{kind} {key} in {member} is an orphan, and is not listed" for member, kind, key in unknown - listed]
    problems += [
        f"{kind} {key} in {member} is listed as an orphan, and is none" for member, kind, key in listed - unknown
    ]
    forgotten, works = forgotten_works(scene.truth), {work.key for work in found.works}
    problems += [f"the Work {key} has no binding, and is not listed" for key in forgotten - works]
    problems += [f"the Work {key} is listed as without a binding, and has one" for key in works - forgotten]
    problems += [f"the orphans of {name} cannot be read: {why}" for name, why in found.unreadable.items()]
    scene.orphaned.clear()
    scene.is_cleared = True
    if not problems:
        deleted: list[tuple[Orphan | OrphanWork, bool]]
        deleted = [(orphan, await _delete(world, scene, reach, orphan)) for orphan in found.orphans]
        deleted += [(work, await delete_orphan_work(world.client, work)) for work in found.works]
        problems = [f"{orphan} was to be deleted, and was not" for orphan, is_done in deleted if not is_done]
        if deleted:
            await asyncio.sleep(CARRY_OUT_SECONDS)
    return sorted(problems)


async def _delete(world: World, scene: Scene, reach: Reach, orphan: Orphan) -> bool:
    """Deletes an orphan. One that still serves takes room: where its application is placed nowhere for want of that,
    its user deletes it by hand, as the refusal says; and where nothing places its template any more."""
    try:
        return await delete_orphan(world.client, reach, orphan)
    except StillServes:
        annotations = annotations_of(scene.truth.of(KINDS[orphan.resource.kind], orphan.cluster)[orphan.key])
        binding = scene.truth.any_binding(Key(orphan.key.namespace, annotations[BINDING_NAME_ANNOTATION]))
        if binding.spec.clusters if binding is not None else not _is_left_to_itself(scene, orphan):
            return False
    scene.touched.add((orphan.cluster, orphan.resource.plural, orphan.key.name))
    client = await reach(scene.truth.clusters[orphan.cluster])
    await client.delete(orphan.resource, orphan.key.name, orphan.key.namespace)
    return True


def _is_left_to_itself(scene: Scene, orphan: Orphan) -> bool:
    """Tells whether its template is there, and neither a policy nor a template that names it places it."""
    kind, key = orphan.resource.kind, orphan.key
    is_placed = (kind, *key) in selected(scene.truth) or needed_in(scene.truth, (kind, key.name), key.namespace)
    return not is_placed and key in scene.truth.of(KINDS[kind])
