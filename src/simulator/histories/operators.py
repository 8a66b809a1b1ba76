"""Operators: what works on custom resources in each member, and says so in their status.

All replicas of a Batch are ready a moment after they were asked for. A Database takes longer; where it has a size, its
operator makes a claim for it, which belongs to it. An operator that cannot write tries again.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from contextvars import Context, copy_context

from controller_runtime import Key
from kubeapi.loop import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, WorldError
from kubecluster.network import LinkedTransport
from kubeserver.inprocess import ADMIN
from leeward.sim.world import World
from simulator.histories.ground_truth import HOME, OPERATED, SCRIPTED, Change, GroundTruth
from simulator.histories.manifests import BATCHES, DATABASES, SHARED, is_told_ready

WORKED_ON: Mapping[str, tuple[Resource[Manifest], float]] = {SCRIPTED: (BATCHES, 3.0), OPERATED: (DATABASES, 20.0)}
"""The kind, and seconds to bring up what is asked for, and between two tries."""
READY = {"type": "Ready", "status": "True", "reason": "Running", "message": ""}


class Operators:
    def __init__(self, world: World, truth: GroundTruth) -> None:
        self._world = world
        self._truth = truth
        self._supervisor: Supervisor | None = None
        self._own = Context()
        """Context of who begins. The API server that tells a change has another, and an operator outlives that."""
        self._busy: set[tuple[str, str, Key]] = set()

    def begin(self, supervisor: Supervisor) -> None:
        """`supervisor` has their tasks from now on."""
        self._supervisor, self._own = supervisor, copy_context()

    def look(self, change: Change) -> None:
        """Looks at a change; to be called with every one."""
        if change.kind not in WORKED_ON or change.place == HOME or change.new is None:
            return
        supervisor, what = self._supervisor, (change.place, change.kind, change.key)
        if supervisor is not None and what not in self._busy and _wanted(change.kind, change.new) is not None:
            self._busy.add(what)
            name = f"operator of {change.key} in {change.place}"
            self._own.copy().run(supervisor.start, self._work(*what), name)

    async def _work(self, member: str, kind: str, key: Key) -> None:
        client = Client(LinkedTransport(self._world.member(member).place, ADMIN), "operator")
        resource, seconds = WORKED_ON[kind]
        while True:
            await asyncio.sleep(seconds)
            present = self._truth.of(kind, member).get(key)
            status = _wanted(kind, present) if present is not None else None
            if present is None or status is None:
                self._busy.discard((member, kind, key))
                return
            try:
                await _claim(client, present)
                await client.patch(resource, key.name, {"status": status}, key.namespace, subresource="status")
            except WorldError:
                continue


async def _claim(client: Client, database: Manifest) -> None:
    """Makes the claim of a Database that has a size. Raises: WorldError."""
    size, metadata = database["spec"].get("size"), database["metadata"]
    if size is None:
        return
    owner = {name: database[name] for name in ("apiVersion", "kind")}
    owner |= {"name": metadata["name"], "uid": metadata["uid"], "controller": True}
    claim = {
        "metadata": {"name": f"{metadata['name']}-1", "ownerReferences": [owner]},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }
    with suppress(AlreadyExists):
        await client.create(SHARED["PersistentVolumeClaim"], claim, metadata["namespace"])


def _wanted(kind: str, manifest: Manifest) -> Manifest | None:
    """The status that an object is to have; None where it has it."""
    if kind == OPERATED:
        return None if is_told_ready(manifest) else {"conditions": [READY]}
    wanted = {
        "replicas": manifest["spec"]["replicas"],
        "readyReplicas": manifest["spec"]["replicas"],
        "observedGeneration": manifest["metadata"]["generation"],
    }
    present: Manifest = manifest.get("status") or {}
    return None if {name: present.get(name) for name in wanted} == wanted else wanted
