"""Carries out the steps of a scenario on a copied world: what happens to clusters, and what people do.

What is done to a cluster lasts until `return` ends all of it. People act as the administrator does, over the API of the
copied control plane.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in
from kubeclient import AlreadyExists
from kubecluster.kinds import NODES, PODS
from kubecluster.network import Link
from kubecluster.rules.pods import node_of
from kubeserver.serialization.durations import parse_duration
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import select_clusters
from leeward.answers.subjects import binding_asked_of
from leeward.operations import OperationFailed
from leeward.operations.drain import start_drain, undo_drain
from leeward.operations.taints import CORDON, change_taints, with_taint, without_taints
from leeward.runtime.discovery import Discovery
from leeward.sim.member import agent_of
from leeward.sim.rehearsal.copied_world import CopiedWorld
from leeward.sim.rehearsal.scenario_file import Scenario, ScenarioProblem, ScenarioStep
from leeward.sim.world import CONTROLLERS

REFUSAL = 403


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with its choices made: `clusters` by name, and the binding of what is scaled."""

    at_seconds: float
    step: ScenarioStep
    clusters: tuple[str, ...]
    scaled: BindingName | None = None

    @property
    def sentence(self) -> str:
        who, kinds = " and ".join(self.clusters), _kinds(self.step)
        return _SENTENCES[self.step.action].format(who=who, step=self.step, kinds=kinds)


def plan_steps(state: FleetState, scenario: Scenario) -> list[PlannedStep]:
    """Plans the steps in the order of their instants. Raises: ScenarioProblem for a cluster or an application that is
    not there."""
    planned: list[PlannedStep] = []
    for index, step in enumerate(scenario.spec.steps):
        try:
            planned.append(_planned(state, step))
        except OperationFailed as error:
            raise ScenarioProblem(f"spec.steps[{index}]: {error}") from error
    return sorted(planned, key=lambda each: each.at_seconds)


def several_nodes(steps: Sequence[PlannedStep]) -> frozenset[str]:
    """The clusters whose nodes go down one by one."""
    return frozenset(name for each in steps if each.step.nodes_down is not None for name in each.clusters)


def _planned(state: FleetState, step: ScenarioStep) -> PlannedStep:
    clusters = tuple(sorted(select_clusters(state, step.clusters, step.action.rstrip("_"))))
    scaled = None
    if step.scale is not None:
        scaled = binding_asked_of(state, step.scale.application, step.scale.namespace)
        if not state.bindings[scaled].spec.is_workload:
            raise OperationFailed(f"scale: {step.scale.application} has no replicas")
    return PlannedStep(step.at_seconds, step, clusters, scaled)


class ScenarioSteps:
    """Player of the steps; returns when each was done. Raises: WorldError where the control plane refuses one."""

    def __init__(self, world: CopiedWorld) -> None:
        self._world = world
        self._nodes_down: dict[str, list[str]] = {}

    async def carry_out(self, planned: PlannedStep) -> None:
        if planned.step.scale is not None and planned.scaled is not None:
            await self._scale(planned.scaled, planned.step.scale.replicas)
        for manifest in planned.step.apply or ():
            await self._apply(manifest)
        act = self._actions().get(planned.step.action)
        if act is not None:
            for name in planned.clusters:
                await act(name, planned.step)

    def _actions(self) -> Mapping[str, Callable[[str, ScenarioStep], Awaitable[Any]]]:
        """Actions on one cluster, by name."""
        client = self._world.client
        return {
            "fail": self._fail,
            "return_": self._return,
            "partition": self._partition,
            "unready": self._make_unready,
            "refuse_writes": self._refuse_writes,
            "slow": self._slow_down,
            "nodes_down": self._take_nodes_down,
            "drain": lambda name, _: start_drain(client, name, None),
            "cordon": lambda name, _: change_taints(client, name, with_taint(CORDON)),
            "uncordon": self._uncordon,
        }

    async def _fail(self, name: str, _: ScenarioStep) -> None:
        await self._world.member(name).stop()

    async def _return(self, name: str, _: ScenarioStep) -> None:
        member = self._world.member(name)
        for link in self._ways_to(name):
            link.mend()
        member.set_latency(0)
        member.refuse_writes(None)
        if not member.is_up:
            await member.start()
        member.set_ready(True)
        for node in self._nodes_down.pop(name, []):
            await member.client.patch(NODES, node, {"spec": {"unschedulable": None}})

    async def _partition(self, name: str, _: ScenarioStep) -> None:
        for link in self._ways_to(name):
            link.cut()

    async def _make_unready(self, name: str, _: ScenarioStep) -> None:
        self._world.member(name).set_ready(False)

    async def _refuse_writes(self, name: str, _: ScenarioStep) -> None:
        self._world.member(name).refuse_writes(REFUSAL)

    async def _slow_down(self, name: str, step: ScenarioStep) -> None:
        assert step.slow is not None, "the step says how slow"
        self._world.member(name).set_latency(parse_duration(step.slow.by))

    async def _take_nodes_down(self, name: str, step: ScenarioStep) -> None:
        """Takes Nodes away, those with the lowest names first; of controllers' Pods that ran there, others are made
        elsewhere."""
        assert step.nodes_down is not None, "the step says how many"
        member = self._world.member(name)
        if not member.is_up:
            return
        down = self._nodes_down.setdefault(name, [])
        nodes = [node["metadata"]["name"] for node in (await member.client.list(NODES)).items]
        chosen = [node for node in nodes if node not in down][: step.nodes_down.nodes]
        for node in chosen:
            await member.client.patch(NODES, node, {"spec": {"unschedulable": True}})
        down += chosen
        for pod in (await member.client.list(PODS)).items:
            metadata = pod["metadata"]
            if node_of(pod) in chosen and metadata.get("ownerReferences"):
                await member.client.delete(PODS, metadata["name"], metadata["namespace"], grace_seconds=0)

    async def _uncordon(self, name: str, _: ScenarioStep) -> None:
        await change_taints(self._world.client, name, without_taints(CORDON))
        await undo_drain(self._world.client, name)

    async def _scale(self, key: BindingName, replicas: int) -> None:
        kind, resource = await self._kind_of(key)
        field = "parallelism" if resource.kind == "Job" else "replicas"
        await self._world.client.patch(kind, resource.name, {"spec": {field: replicas}}, resource.namespace)

    async def _kind_of(self, key: BindingName):
        resource = self._world.state.bindings[key].spec.resource
        return await Discovery(self._world.client).resource(resource.api_version, resource.kind), resource

    async def _apply(self, manifest: Manifest) -> None:
        """Creates it, or brings its spec, labels and annotations up to date. Raises: WorldError."""
        client, metadata = self._world.client, manifest["metadata"]
        kind: Resource[Manifest] = await Discovery(client).resource(manifest["apiVersion"], manifest["kind"])
        namespace = metadata.get("namespace", "default") if kind.namespaced else ""
        try:
            await client.create(kind, {**manifest, "metadata": {**metadata, "namespace": namespace}}, namespace)
        except AlreadyExists:
            present = await client.get(kind, metadata["name"], namespace)
            kept = {k: v for k, v in present["metadata"].items() if k not in ("labels", "annotations")}
            merged = {k: {**present["metadata"].get(k, {}), **metadata.get(k, {})} for k in ("labels", "annotations")}
            wanted = _selecting_as(present, manifest)
            await client.update(kind, {**wanted, "metadata": {**kept, **merged}}, metadata["name"], namespace)

    def _ways_to(self, name: str) -> list[Link]:
        """Links between the control plane and the member, in either direction."""
        world = self._world
        return [world.link(CONTROLLERS, name), world.link(agent_of(name), world.NAME)]


def _selecting_as(present: Manifest, manifest: Manifest) -> Manifest:
    """The manifest with the selector of the rebuilt workload, which cannot change: a picture does not have the real
    one."""
    labels, spec = mapping_in(mapping_in(mapping_in(present, "spec"), "selector"), "matchLabels"), manifest.get("spec")
    if not labels or not isinstance(spec, dict) or "template" not in spec:
        return manifest
    template = mapping_in(cast(Manifest, spec), "template")
    metadata = mapping_in(template, "metadata")
    pods = {**template, "metadata": {**metadata, "labels": {**mapping_in(metadata, "labels"), **labels}}}
    return {**manifest, "spec": {**spec, "selector": present["spec"]["selector"], "template": pods}}


_SENTENCES = {
    "fail": "{who} dies",
    "return_": "{who} is as before again",
    "partition": "{who} is cut off from the control plane",
    "unready": "{who} says that it is not ready",
    "refuse_writes": "{who} refuses writes",
    "slow": "{who} answers {step.slow.by} later",
    "nodes_down": "{step.nodes_down.nodes} nodes of {who} go down",
    "scale": "{step.scale.application} is scaled to {step.scale.replicas}",
    "drain": "{who} is drained",
    "cordon": "{who} is cordoned",
    "uncordon": "{who} is uncordoned",
    "apply": "{kinds} is applied",
}


def _kinds(step: ScenarioStep) -> str:
    named = [f"{each.get('kind')} {each.get('metadata', {}).get('name', '')}" for each in step.apply or ()]
    return " and ".join(named)
