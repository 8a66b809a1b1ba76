"""A fleet on the virtual clock for callers without an event loop: tests of policies, notebooks.

    fleet = VirtualFleet(["member1", FleetMember("member2", region="eu")])
    fleet.apply("policy.yaml", "web.yaml")
    fleet.wait("1m")

Time passes in `wait` and `until` alone. The same calls with the same seed give the same fleet.
"""

import asyncio
import atexit
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from kubeapi.codec import parse_yaml
from kubeapi.loop import VirtualLoop
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, text_in
from kubeclient import NotFound
from kubecluster.network import Link
from kubeserver.serialization.durations import parse_duration
from leeward.answers.fleet_state import FleetState
from leeward.answers.reading import read_fleet
from leeward.answers.subjects import SHORT_NAMES
from leeward.api.names import binding_name
from leeward.api.resource import CLUSTERS
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.operations.drain import start_drain, undo_cordon
from leeward.runtime.discovery import Discovery
from leeward.sim.member import Mode, SimulatedMember, agent_of
from leeward.sim.world import CONTROLLERS, World

T = TypeVar("T")
READY_SECONDS = 120.0
FIELD_MANAGER = "kubectl"


@dataclass(frozen=True, slots=True)
class FleetMember:
    """A cluster as it joins, with `nodes` of `cpu` cores and `memory` each."""

    name: str
    mode: Mode = "Push"
    region: str = ""
    zone: str = ""
    provider: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    nodes: int = 2
    cpu: str = "16"
    memory: str = "64Gi"


class VirtualFleet:
    """Control plane and member clusters of their own. Close it, or use it in a `with` block."""

    def __init__(
        self,
        members: Sequence[str | FleetMember],
        *,
        seed: int = 0,
        timing: Timing | None = None,
        settings: ManagerSettings | None = None,
    ) -> None:
        known = [FleetMember(each) if isinstance(each, str) else each for each in members]
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        modes: dict[str, Mode] = {each.name: each.mode for each in known}
        if len(modes) != len(known):
            raise ValueError("members: two of them have the same name")
        self._world = World(modes, timing or Timing.karmada(), seed, manager=settings)
        self._discovery = Discovery(self._world.client)
        self._closed = False
        atexit.register(self.close)
        self._run(self._start(known))

    def apply(self, *what: str | os.PathLike[str] | Manifest) -> None:
        """Applies files of YAML documents, or manifests, to the control plane, as `kubectl apply --server-side` does.

        Raises: WorldError where the control plane refuses one, ValueError for a file that cannot be read.
        """
        for each in what:
            for manifest in [each] if isinstance(each, dict) else parse_yaml(Path(each).read_bytes()):
                self._run(self._apply(manifest))

    def delete(self, resource: str, namespace: str = "default") -> None:
        """Deletes TYPE/NAME in the control plane. Raises: NotFound."""
        kind, name = self._run(self._kind_of(resource))
        self._run(self._world.client.delete(kind, name, namespace if kind.namespaced else ""))

    def get(self, resource: str, namespace: str = "default", *, cluster: str = "") -> Manifest:
        """Gets TYPE/NAME from the control plane, or from a cluster that answers. Raises: NotFound."""
        kind, name = self._run(self._kind_of(resource))
        client = self._member(cluster).client if cluster else self._world.client
        return self._run(client.get(kind, name, namespace if kind.namespaced else ""))

    def wait(self, duration: str | float) -> None:
        """Lets time pass: `"10m"`, or seconds."""
        self._run(asyncio.sleep(parse_duration(duration) if isinstance(duration, str) else duration))

    def until(self, holds: Callable[[], bool], within: str = "1h", every: str = "1s") -> float:
        """Lets time pass until `holds`; seconds that it took. Raises: TimeoutError."""
        began, most = self.seconds, parse_duration(within)
        while not holds():
            if self.seconds - began >= most:
                raise TimeoutError(f"it does not hold within {within}")
            self.wait(every)
        return self.seconds - began

    def fail(self, *clusters: str) -> None:
        """Ends the processes of these clusters, as a loss of power does."""
        for member in map(self._member, clusters):
            self._run(member.stop())

    def partition(self, *clusters: str) -> None:
        """Cuts the ways between the control plane and these clusters, which go on serving."""
        self._run(self._cut(clusters))

    def recover(self, *clusters: str) -> None:
        """Ends `fail` and `partition` of these clusters."""
        self._run(self._recover(clusters))

    def drain(self, cluster: str) -> None:
        """Moves applications away, as `leeward drain`."""
        self._run(start_drain(self._world.client, self._member(cluster).name, None))

    def uncordon(self, cluster: str) -> None:
        """Takes back a drain, as `leeward uncordon`."""
        self._run(undo_cordon(self._world.client, self._member(cluster).name))

    def placement(self, resource: str, namespace: str = "default") -> dict[str, int]:
        """Replicas by cluster that the control plane has assigned to TYPE/NAME; empty where there is no binding."""
        kind, name = self._run(self._kind_of(resource))
        return self._world.assigned(binding_name(kind.kind, name), namespace if kind.namespaced else "")

    def serving(self, resource: str, namespace: str = "default") -> dict[str, int]:
        """Ready replicas of TYPE/NAME by cluster, as clusters that run see it, seen by the control plane or not."""
        kind, name = self._run(self._kind_of(resource))
        found = dict[str, int]()
        for member in self._world.members.values():
            if member.is_up:
                try:
                    there = self._run(member.client.get(kind, name, namespace if kind.namespaced else ""))
                except NotFound:
                    continue
                found[member.name] = int(there.get("status", {}).get("readyReplicas", 0))
        return found

    @property
    def clusters(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(self._world.members)

    @property
    def seconds(self) -> float:
        """Seconds since the fleet began."""
        return self._runner.get_loop().time()

    def picture(self) -> FleetState:
        """Picture of the fleet as it is now: `leeward.Fleet(picture)` asks it."""
        return self._run(read_fleet(self._world.client, self._world.clock, "virtual fleet"))

    def close(self) -> None:
        """Ends all parties. A second call does nothing."""
        if not self._closed:
            self._closed = True
            atexit.unregister(self.close)
            self._run(self._world.__aexit__(None, None, None))
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    async def _start(self, members: Sequence[FleetMember]) -> None:
        world = self._world
        for each in members:
            sizes = {"nodes": each.nodes, "node_cpu": each.cpu, "node_memory": each.memory}
            member = world.member(each.name)
            member.workloads = replace(member.workloads, **sizes)
            member.nodes = each.nodes
        await world.__aenter__()
        await world.until(lambda: all(world.is_ready(each.name) for each in members), READY_SECONDS)
        for each in members:
            places = {"region": each.region, "zone": each.zone, "provider": each.provider}
            spec = {name: value for name, value in places.items() if value}
            if spec or each.labels:
                patch = {"metadata": {"labels": dict(each.labels)}, "spec": spec}
                await world.client.patch(CLUSTERS, each.name, patch)

    async def _cut(self, clusters: Sequence[str]) -> None:
        for link in (link for name in clusters for link in self._ways_to(name)):
            link.cut()

    async def _recover(self, clusters: Sequence[str]) -> None:
        for name in clusters:
            for link in self._ways_to(name):
                link.mend()
            if not self._member(name).is_up:
                await self._member(name).start()

    async def _apply(self, manifest: Manifest) -> None:
        api_version, kind = text_in(manifest, "apiVersion"), text_in(manifest, "kind")
        resource = await self._discovery.resource(api_version, kind)
        metadata = mapping_in(manifest, "metadata")
        namespace = str(metadata.get("namespace", "default")) if resource.namespaced else ""
        placed = {**manifest, "metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}
        await self._world.client.apply(resource, placed, namespace, field_manager=FIELD_MANAGER)

    async def _kind_of(self, resource: str) -> tuple[Resource[Manifest], str]:
        """Kind and name of TYPE/NAME, as the control plane offers it. Raises: ValueError."""
        given, slash, name = resource.partition("/")
        wanted, _, group = given.lower().partition(".")
        offered = (await self._discovery.offer()).enablements
        wanted = SHORT_NAMES.get(wanted, wanted)
        for each in offered if slash and name else ():
            of_group = each.group_version.rpartition("/")[0]
            for offer in each.resources if not group or of_group == group else ():
                if wanted in (offer.kind.lower(), offer.name):
                    return await self._discovery.resource(each.group_version, offer.kind), name
        raise ValueError(f"{resource!r}: write TYPE/NAME of a kind that the control plane has, such as deploy/web")

    def _member(self, name: str) -> SimulatedMember:
        if name not in self._world.members:
            raise ValueError(f"there is no cluster {name!r}: choose from {', '.join(self._world.members)}")
        return self._world.member(name)

    def _ways_to(self, name: str) -> list[Link]:
        """Links between the control plane and the member, in either direction."""
        member = self._member(name)
        return [self._world.link(CONTROLLERS, member.name), self._world.link(agent_of(member.name), World.NAME)]
