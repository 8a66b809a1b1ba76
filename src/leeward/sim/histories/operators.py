"""Operators: what works on objects of the scripted kind in each member, and says so in their status.

All replicas of an object are ready a moment after they were asked for; an operator that cannot write tries again.
"""

import asyncio
from contextvars import Context, copy_context

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeserver.inprocess import ADMIN
from leeward.client import Client, WorldError
from leeward.runtime.identity import Key
from leeward.sim.histories.ground_truth import HOME, SCRIPTED, Change, GroundTruth
from leeward.sim.histories.manifests import BATCHES
from leeward.sim.network import LinkedTransport
from leeward.sim.world import World

WORK_SECONDS = 3.0
"""Seconds to bring up what is asked for, and between two tries."""


class Operators:
    def __init__(self, world: World, truth: GroundTruth) -> None:
        self._world = world
        self._truth = truth
        self._supervisor: Supervisor | None = None
        self._own = Context()
        """Context of who begins. The API server that tells a change has another, and an operator outlives that."""
        self._busy: set[tuple[str, Key]] = set()

    def begin(self, supervisor: Supervisor) -> None:
        """`supervisor` has their tasks from now on."""
        self._supervisor, self._own = supervisor, copy_context()

    def look(self, change: Change) -> None:
        """Looks at a change; to be called with every one."""
        if change.kind != SCRIPTED or change.place == HOME or change.new is None:
            return
        supervisor, what = self._supervisor, (change.place, change.key)
        if supervisor is not None and what not in self._busy and _wanted(change.new) is not None:
            self._busy.add(what)
            name = f"operator of {change.key} in {change.place}"
            self._own.copy().run(supervisor.start, self._work(change.place, change.key), name)

    async def _work(self, member: str, key: Key) -> None:
        client = Client(LinkedTransport(self._world.member(member).place, ADMIN), "operator")
        while True:
            await asyncio.sleep(WORK_SECONDS)
            present = self._truth.of(SCRIPTED, member).get(key)
            status = _wanted(present) if present is not None else None
            if status is None:
                self._busy.discard((member, key))
                return
            try:
                await client.patch(BATCHES, key.name, {"status": status}, key.namespace, subresource="status")
            except WorldError:
                continue


def _wanted(manifest: Manifest) -> Manifest | None:
    """The status that an object is to have; None where it has it."""
    wanted = {
        "replicas": manifest["spec"]["replicas"],
        "readyReplicas": manifest["spec"]["replicas"],
        "observedGeneration": manifest["metadata"]["generation"],
    }
    present: Manifest = manifest.get("status") or {}
    return None if {name: present.get(name) for name in wanted} == wanted else wanted
