"""Deletions of Works that somebody else than their binding controller begins.

The objects stay in the member, and the next Work of the name takes them over. It is made after a rest: `karmadactl
unregister` deletes the Works of a cluster until it finds none. Where it deletes all of a Pull cluster that is Ready,
their objects go with them, but for those of shared kinds; the agent waits for that word. A single Work tells no such
wish: its objects stay.

A deletion whose beginning was not seen is none of these. A Work that goes without its objects has a successor, also
where nobody wants one by then: only a Work takes them away. Holds: S1, S5, L3.
"""

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta

from controller_runtime import Index, Key, keep_latest, key_of
from kubeapi.codec import to_wire
from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeclient import AlreadyExists
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER, REASSIGNED_ANNOTATION, cluster_of_execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.execution.claims import Owner, owners_of
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import FOREIGN_DELETION_REST, keep_objects, mark_removal

EMPTIED_WITHIN = timedelta(seconds=2)
"""Time within which `karmadactl unregister` asks for the deletion of all Works of a cluster."""
MAX_REMEMBERED = 10_000


class ForeignDeletions:
    def __init__(self, plane: ControlPlane) -> None:
        self._client, self._clock = plane.client, plane.clock
        self._clusters, self._works = plane.informers.of(CLUSTERS), plane.informers.of(WORKS)
        self._living = Index(self._works, _space_of_living)
        self._ours: dict[str, None] = {}
        """Uids of the Works whose deletion we have asked for, the latest last."""
        self._begun: dict[str, datetime] = {}
        """Uids of the Works whose deletion others have begun, and which are not gone, with when that was seen."""
        self._together: dict[str, dict[str, datetime]] = {}
        """The same by execution space, also of those that are gone."""
        self._rests: dict[Key, datetime] = {}
        self._left: dict[Key, Work] = {}
        """Works that leave their objects to the next Work of the name, as they were before; until that is there."""

    def except_ours(self, work: Work) -> None:
        """Notes that the deletion to come is ours."""
        self._ours[work.metadata.uid] = None
        keep_latest(self._ours, MAX_REMEMBERED)

    def note_change(self, old: Work | None, new: Work | None) -> None:
        """Follows deletions that others begin; once such a Work is gone, it rests before it is made anew."""
        if old is None:
            return
        uid, now = old.metadata.uid, self._clock.now()
        if new is not None and _is_ending(new) and not _is_ending(old) and uid not in self._ours:
            self._begun[uid] = now
            keep_latest(self._begun, MAX_REMEMBERED)
            together = self._together.setdefault(old.namespace, {})
            together[uid] = now
            keep_latest(together, MAX_REMEMBERED)
        elif new is None and self._begun.pop(uid, None) is not None:
            if len(self._rests) >= MAX_REMEMBERED:
                self._rests = {key: until for key, until in self._rests.items() if until > now}
            self._rests[key_of(old)] = now + FOREIGN_DELETION_REST

    def rests_until(self, key: Key) -> datetime | None:
        """Instant from which a Work that is gone may be made anew; None for now."""
        until = self._rests.get(key)
        if until is not None and until <= self._clock.now():
            del self._rests[key]
            return None
        return until

    def is_pulled(self, work: Work) -> bool:
        """Tells whether an agent carries the Work out, which has to be told of orders."""
        cluster = self._clusters.get(cluster_of_execution_space(work.namespace))
        return cluster is not None and cluster.spec.sync_mode == "Pull"

    def settles_at(self, work: Work) -> datetime | None:
        """Instant at which it is known whether all Works of a Pull cluster are deleted with this one; None for now."""
        begun = self._begun.get(work.metadata.uid) if self.is_pulled(work) else None
        settles = begun + EMPTIED_WITHIN if begun is not None else None
        return settles if settles is not None and settles > self._clock.now() else None

    async def keep(self, work: Work) -> Work:
        """Keeps the objects of a wanted Work that is being deleted, or orders their removal where its cluster is
        emptied; once that is known. Raises: WorldError."""
        if self.settles_at(work) is not None:
            return work
        if await self._is_emptied(work):
            return await mark_removal(self._client, work, pulled=True)
        known = self._left.get(key_of(work))
        if known is None or known.metadata.uid != work.metadata.uid:
            self._left[key_of(work)] = work
            keep_latest(self._left, MAX_REMEMBERED)
        return await keep_objects(self._client, work)

    async def succeed(self, owner: Key, wanted: Collection[str] = ()) -> datetime | None:
        """Makes successors of the binding's Works that left objects where it has none `wanted`: they are removed as all
        Works are. Returns when others may be made, if that can be told. Raises: WorldError."""
        rests = list[datetime]()
        for key, left in [each for each in self._left.items() if Owner(*owner) in owners_of(each[1])]:
            name = cluster_of_execution_space(key.namespace)
            cluster, present = self._clusters.get(name), self._works.get(key.name, key.namespace)
            is_succeeded = present is not None and present.metadata.uid != left.metadata.uid
            if cluster is None or cluster.is_being_deleted or is_succeeded:
                del self._left[key]
            elif present is None and name not in wanted:
                if until := self.rests_until(key):
                    rests.append(until)
                    continue
                with suppress(AlreadyExists):
                    await self._client.create(WORKS, _successor_of(left), key.namespace)
                self._left.pop(key, None)
        return min(rests, default=None)

    async def _is_emptied(self, work: Work) -> bool:
        """Tells whether all Works of a Pull cluster, and several, are deleted without their namespace.

        Raises: WorldError.
        """
        cluster, uid = self._clusters.get(cluster_of_execution_space(work.namespace)), work.metadata.uid
        is_reached = cluster is not None and cluster.is_ready and self.is_pulled(work)
        if not is_reached or uid not in self._begun or has_shared(work) or self._living.keys(work.namespace):
            return False
        begun, together = self._begun[uid], self._together.get(work.namespace, {})
        if not any(other != uid and abs(at - begun) <= EMPTIED_WITHIN for other, at in together.items()):
            return False
        return (await self._client.get(NAMESPACES, work.namespace)).metadata.deletion_timestamp is None


def _successor_of(work: Work) -> Manifest:
    """The Work as it was before its deletion was asked for."""
    metadata, wire = work.metadata, to_wire(work)
    annotations = {name: text for name, text in metadata.annotations.items() if name != REASSIGNED_ANNOTATION}
    named = {"name": work.name, "namespace": work.namespace, "finalizers": [EXECUTION_CONTROLLER_FINALIZER]}
    if REASSIGNED_ANNOTATION in metadata.annotations:
        wire["spec"].pop("preserveResourcesOnDeletion", None)
    return {
        "apiVersion": WORKS.api_version,
        "kind": WORKS.kind,
        "metadata": {**named, "labels": dict(metadata.labels), "annotations": annotations},
        "spec": wire["spec"],
    }


def _space_of_living(work: Work) -> str | None:
    return work.namespace if not _is_ending(work) and any(owners_of(work)) else None


def _is_ending(work: Work) -> bool:
    return work.metadata.deletion_timestamp is not None
