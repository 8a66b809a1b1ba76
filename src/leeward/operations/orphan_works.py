"""Works whose binding is gone: what somebody wrote who knew more than a restored control plane does.

Controllers that go on over a restore write for a moment what they know of; so does whoever takes the finalizer off a
binding by hand. Such a Work names a binding that does not exist, by name and by permanent id. What it has made runs on.

Works are asked for before the bindings and after them, so that what is being placed or taken away meanwhile is none of
these: a binding that is gone by then was dissolved, and its Works before it.
"""

import asyncio
from dataclasses import dataclass

from controller_runtime import Key, key_of
from kubeclient import Client, Conflict, NotFound, NotServed, every
from leeward.api.names import (
    BINDING_ID_LABEL,
    CLUSTER_BINDING_ID_LABEL,
    EXECUTION_SPACE_PREFIX,
    cluster_of_execution_space,
)
from leeward.api.resource import WORKS
from leeward.api.work import Binding, Work
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.execution.claims import Owner, owners_of
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING

ATTEMPTS = 3
PAUSE_SECONDS = 0.1
"""Seconds between two of them: until a write that is under way can be read."""
KINDS = ((RESOURCE_BINDING.resource, BINDING_ID_LABEL), (CLUSTER_RESOURCE_BINDING.resource, CLUSTER_BINDING_ID_LABEL))
"""The kinds of bindings, and the label with the permanent id of one: of itself, and of its Works."""


@dataclass(frozen=True, slots=True)
class OrphanWork:
    """One Work, as it was seen. `owners` are the bindings that it names, of which none exists."""

    cluster: str
    key: Key
    uid: str
    resource_version: str
    owners: tuple[Owner, ...]
    ids: tuple[str, ...]
    """The permanent ids of bindings that it names; a Work of an earlier version may name none."""
    is_shared: bool = False
    """Tells whether others may live in what it has made, who would lose what they keep there."""

    def __str__(self) -> str:
        return f"Work {self.key} of {', '.join(map(str, self.owners))}"


@dataclass(slots=True)
class _Bindings:
    """Bindings that are there: by kind and name, and by permanent id."""

    owners: set[Owner]
    ids: set[str]

    def knows(self, orphan: OrphanWork) -> bool:
        return not self.owners.isdisjoint(orphan.owners) or not self.ids.isdisjoint(orphan.ids)


async def find_orphan_works(control_plane: Client) -> tuple[OrphanWork, ...]:
    """Reads only. Raises: WorldError when the control plane cannot be read."""
    before = await _candidates(control_plane)
    if not before:
        return ()
    bindings = _Bindings(set(), set())
    for resource, _ in KINDS:
        binding: Binding
        async for binding in every(control_plane, resource):
            bindings.owners.add(Owner(*key_of(binding)))
            bindings.ids.update(_ids(binding))
    after = await _candidates(control_plane)
    found = (work for uid, work in after.items() if uid in before and not bindings.knows(work))
    return tuple(sorted(found, key=lambda work: work.key))


async def delete_orphan_work(control_plane: Client, orphan: OrphanWork) -> bool:
    """Deletes one that was found, of the uid and the version that is there; whether it still was one. Holds: S5.

    Its execution controller takes its objects out of the member. Raises: WorldError.
    """
    for attempt in range(ATTEMPTS):
        try:
            found = _read(await control_plane.get(WORKS, orphan.key.name, orphan.key.namespace))
            if found is None or found.uid != orphan.uid or await _has_binding(control_plane, found):
                return False
            await control_plane.delete(
                WORKS, found.key.name, found.key.namespace, uid=found.uid, resource_version=found.resource_version
            )
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            await asyncio.sleep(PAUSE_SECONDS)
        except NotServed:
            raise
        except NotFound:
            return False
        else:
            return True
    return False


async def _has_binding(client: Client, orphan: OrphanWork) -> bool:
    """Tells whether its binding is there, asked of the API server itself. Raises: WorldError, also when it does not
    serve bindings."""
    for owner in orphan.owners:
        (resource, _) = KINDS[0] if owner.namespace else KINDS[1]
        if await client.find(resource, owner.name, owner.namespace) is not None:
            return True
    for resource, label in KINDS:
        for each in orphan.ids:
            if (await client.list(resource, label_selector=f"{label}={each}", limit=1)).items:
                return True
    return False


async def _candidates(client: Client) -> dict[str, OrphanWork]:
    """Works, by uid, that name a binding and are not being deleted."""
    found = [_read(work) async for work in every(client, WORKS)]
    return {work.uid: work for work in found if work is not None}


def _read(work: Work) -> OrphanWork | None:
    owners = tuple(owners_of(work))
    if not owners or not work.namespace.startswith(EXECUTION_SPACE_PREFIX):
        return None
    if work.metadata.deletion_timestamp is not None:
        return None
    cluster = cluster_of_execution_space(work.namespace)
    metadata = work.metadata
    version, shared = metadata.resource_version, has_shared(work)
    return OrphanWork(cluster, key_of(work), metadata.uid, version, owners, _ids(work), shared)


def _ids(named: Work | Binding) -> tuple[str, ...]:
    labels = named.metadata.labels
    return tuple(labels[label] for _, label in KINDS if labels.get(label))
