"""Orphans of a control plane that was restored: all of them are listed, and no others, and go when that is asked for.

What a user does who has restored a control plane, and reads `leeward orphans` when everything works again.
"""

from kubeserver.inprocess import ADMIN
from leeward.api.cluster import Cluster
from leeward.client import Client
from leeward.operations.orphans import delete_orphan, find_orphans
from leeward.sim.histories.checkers import Scene
from leeward.sim.histories.checkers.restores import copies_of
from leeward.sim.network import LinkedTransport
from leeward.sim.world import World


async def clear_orphans(world: World, scene: Scene) -> list[str]:
    """Lists them and has them deleted. Returns what is wrong with the list. Holds: L3."""

    async def reach(cluster: Cluster) -> Client:
        return Client(LinkedTransport(world.member(cluster.name).place, ADMIN), "leeward")

    found = await find_orphans(world.client, reach)
    listed = {(orphan.cluster, orphan.resource.kind, orphan.key) for orphan in (*found.orphans, *found.doubtful)}
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
    problems += [f"the orphans of {name} cannot be read: {why}" for name, why in found.unreadable.items()]
    scene.orphaned.clear()
    if not problems:
        for orphan in found.orphans:
            if not await delete_orphan(world.client, reach, orphan):
                problems.append(f"{orphan} was to be deleted, and was not")
    return sorted(problems)
