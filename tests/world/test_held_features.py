"""Feature gates that are switched off under a control plane that used them: what runs, and what is written, stays."""

import msgspec

from leeward.api.meta import find_condition
from leeward.api.names import FEATURE_HELD_CONDITION
from leeward.api.resource import RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.api.work import BindingResource, ResourceBindingSpec
from leeward.core.interpreter.scripts import FUNCTIONS, Operation
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, POLICIES, apply, deployment, identities, in_world, policy
from tests.world.test_application_failover import BINDING, cordon_nodes, web_policy
from tests.world.test_scheduler_gates import ONE_CLUSTER, THREE, apart, grouped

IN_PARTS = f"function {FUNCTIONS[Operation.COMPONENT]}(o) return {{{{name='a', replicas=o.spec.replicas}}}} end"
CUSTOMIZATION = {
    "metadata": {"name": "parts"},
    "spec": {
        "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
        "customizations": {"componentResource": {"luaScript": IN_PARTS}},
    },
}
NOWHERE = BindingResource(api_version="", kind="", name="")


def gates(**switched: bool) -> ManagerSettings:
    return ManagerSettings(gates=FeatureGates(switched))


async def switch(world: World, settings: ManagerSettings) -> None:
    """Starts the controllers anew with other gates."""
    await world.stop_controllers()
    world.use(settings)
    world.start_controllers()
    await world.sleep(60)


def held(world: World, name: str) -> str:
    found = world.binding(name)
    condition = find_condition(found.status.conditions, FEATURE_HELD_CONDITION) if found is not None else None
    return condition.message if condition is not None else ""


def spec_of(world: World, name: str) -> ResourceBindingSpec:
    """But for the version of the template."""
    found = world.binding(name)
    assert found is not None
    return msgspec.structs.replace(found.spec, resource=NOWHERE)


@in_world(THREE, manager=gates(MultiplePodTemplatesScheduling=True))
async def test_components_stay_where_their_gate_is_switched_off(world: World) -> None:
    await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, CUSTOMIZATION)
    await apply(world.client, deployment("web", 2), policy("web", ONE_CLUSTER))
    await world.sleep(60)
    before, there = spec_of(world, BINDING), await identities(world, "web")
    assert [(part.name, part.replicas) for part in before.components] == [("a", 2)]
    assert held(world, BINDING) == ""
    await switch(world, gates())
    assert spec_of(world, BINDING) == before
    assert await identities(world, "web") == there
    assert "run with --feature-gates=MultiplePodTemplatesScheduling=true" in held(world, BINDING)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.sleep(60)
    assert [(part.name, part.replicas) for part in spec_of(world, BINDING).components] == [("a", 3)]
    assert spec_of(world, BINDING).clusters[0].name == before.clusters[0].name
    await switch(world, gates(MultiplePodTemplatesScheduling=True))
    assert held(world, BINDING) == ""


@in_world(THREE, manager=gates(WorkloadAffinity=True))
async def test_groups_stay_where_their_gate_is_switched_off_and_go_with_the_policys_wish(world: World) -> None:
    await apply(world.client, grouped("web", "g"), policy("web", apart()))
    await world.sleep(60)
    before, there = spec_of(world, BINDING), await identities(world, "web")
    assert before.workload_affinity_groups is not None
    await switch(world, gates())
    assert spec_of(world, BINDING) == before
    assert await identities(world, "web") == there
    assert "run with --feature-gates=WorkloadAffinity=true" in held(world, BINDING)
    await world.client.patch(POLICIES, "web", {"spec": {"placement": {"workloadAffinity": None}}}, "default")
    await world.sleep(60)
    assert spec_of(world, BINDING).workload_affinity_groups is None
    assert held(world, BINDING) == ""


@in_world(THREE)
async def test_state_that_was_handed_over_stays_where_its_gate_is_switched_off(world: World) -> None:
    rules = [{"aliasLabelName": "example.com/unavailable", "jsonPath": "{.unavailableReplicas}"}]
    failing = web_policy(list(THREE), purgeMode="Directly", statePreservation={"rules": rules})
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), failing)
    await world.until(lambda: world.assigned(BINDING) == {"member2": 2}, 600)
    await world.sleep(60)
    ((uid, _),) = (await identities(world, "web")).values()
    await switch(world, gates(StatefulFailoverInjection=False))
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"new": "yes"}}}, "default")
    await world.sleep(60)
    moved = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
    assert moved["metadata"]["labels"]["new"] == "yes"
    assert moved["metadata"]["labels"]["example.com/unavailable"] == "2"
    assert moved["metadata"]["uid"] == uid


@in_world(THREE)
async def test_dependencies_stay_where_their_gate_is_switched_off(world: World) -> None:
    reading = deployment("web", 2)
    volume = {"name": "settings", "configMap": {"name": "settings"}}
    reading["spec"]["template"]["spec"]["volumes"] = [volume]
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
    following = policy("web", ONE_CLUSTER)
    following["spec"]["propagateDeps"] = True
    await apply(world.client, settings, reading, following)
    await world.sleep(60)
    there = await identities(world, "settings", resource=CONFIG_MAPS)
    assert set(there) == set(world.assigned(BINDING))
    await switch(world, gates(PropagateDeps=False))
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"new": "yes"}}}, "default")
    await world.sleep(300)
    assert await identities(world, "settings", resource=CONFIG_MAPS) == there
    assert "run with --feature-gates=PropagateDeps=true" in held(world, BINDING)
