"""Dependencies that a template names: they go into its clusters before it does, and out of them after it."""

from collections.abc import Callable
from typing import Any

from kubeapi.codec import decode_any
from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.api.names import (
    DEPENDENCIES_ANNOTATION,
    DEPENDENCIES_DISTRIBUTOR_FINALIZER,
    depended_by_label,
    work_name,
)
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
)

SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
TWO = {"member1": 1, "member2": 1}


def config(name: str, text: str = "1") -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": text}}


def reading(name: str, *configs: str, replicas: int = 2) -> Manifest:
    """A Deployment whose container reads these ConfigMaps."""
    made = deployment(name, replicas)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": each}} for each in configs]
    return made


def followed(name: str, placement: Manifest, **spec: Any) -> Manifest:
    made = policy(name, placement)
    made["spec"] |= {"propagateDeps": True, **spec}
    return made


def one_of(*clusters: str) -> Manifest:
    """All replicas in one of these clusters."""
    return {
        "clusterAffinity": {"clusterNames": list(clusters)},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    }


def needed_in(world: World, name: str) -> dict[str, list[str]]:
    """The clusters in which the dependants of an object need it, by dependant; empty without a binding."""
    found = world.binding(name)
    snapshots = found.spec.required_by if found is not None else ()
    return {snapshot.name: sorted(target.name for target in snapshot.clusters) for snapshot in snapshots}


def named(world: World, cluster: str, kind: str, name: str) -> Any:
    return world.work(cluster, work_name(kind, name, "default"))


async def reasons(world: World) -> dict[str, list[str]]:
    """The messages of the events about dependencies, by reason."""
    found: dict[str, list[str]] = {}
    for event in (await world.client.list(EVENTS, "default")).items:
        found.setdefault(event.reason, []).append(event.message)
    return found


@in_world()
async def test_what_a_template_names_goes_where_it_goes(world: World) -> None:
    await apply(world.client, config("settings"), config("other"), followed("web", by_weight(TWO)))
    web = reading("web", "settings", "absent")
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"][1]["configMapRef"]["optional"] = True
    await apply(world.client, web)
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": ["member1", "member2"]})
    await world.sleep(30)
    for member in TWO:
        assert await ready_replicas(world, member, "web") == 1
    assert set(await identities(world, "settings", resource=CONFIG_MAPS)) == set(TWO)
    assert not await identities(world, "other", resource=CONFIG_MAPS), "nobody has asked for it"
    dependant, attached = world.binding("web-deployment"), world.binding("settings-configmap")
    assert dependant is not None
    assert attached is not None
    assert attached.spec.placement is None
    assert [target.replicas for target in attached.spec.required_by[0].clusters] == [1, 1]
    identity = dependant.metadata.labels["resourcebinding.karmada.io/permanent-id"]
    assert attached.metadata.labels[depended_by_label("default", "web-deployment")] == identity
    assert DEPENDENCIES_DISTRIBUTOR_FINALIZER in dependant.metadata.finalizers
    assert decode_any(dependant.metadata.annotations[DEPENDENCIES_ANNOTATION].encode()) == [
        {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name}
        for name in ("absent", "settings")
    ]
    told = await reasons(world)
    assert told["SyncScheduleResultToDependenciesSucceed"] == ["Sync schedule results to dependencies succeed."]
    assert told["GetDependenciesSucceed"] == ["Get dependencies(ConfigMap absent, ConfigMap settings) succeed."]
    assert "DependenciesMissing" not in told


@in_world()
async def test_a_changed_object_and_a_changed_template_are_followed(world: World) -> None:
    await apply(world.client, config("settings"), config("next"), followed("web", by_weight(TWO)))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(30)
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    await world.client.patch(CONFIG_MAPS, "settings", {"data": {"value": "2"}}, "default")
    await world.sleep(10)
    assert await identities(world, "settings", resource=CONFIG_MAPS) == before, "changed in place"
    for member in TWO:
        found = await world.member(member).client.get(CONFIG_MAPS, "settings", "default")
        assert found["data"] == {"value": "2"}
    template = reading("web", "next")["spec"]["template"]
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, "default")
    await world.until(lambda: bool(needed_in(world, "next-configmap")))
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.sleep(10)
    assert not await identities(world, "settings", resource=CONFIG_MAPS)
    assert set(await identities(world, "next", resource=CONFIG_MAPS)) == set(TWO)


@in_world()
async def test_what_a_copy_that_is_away_still_names_stays_there(world: World) -> None:
    """The template names another object by now, but nobody has told that copy yet. Holds: S1."""
    await apply(world.client, config("settings"), config("next"), followed("web", by_weight(TWO)))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(30)
    before = await identities(world, "settings", ["member2"], CONFIG_MAPS)
    await world.member("member2").stop()
    await world.until(lambda: not world.is_ready("member2"))
    template = reading("web", "next")["spec"]["template"]
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, "default")
    await world.sleep(60)
    assert needed_in(world, "settings-configmap") == {"web-deployment": ["member2"]}
    order = Order(world)
    await world.member("member2").start()
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == 1
    assert not await identities(world, "settings", ["member2"], CONFIG_MAPS)
    arrived, left = order.positions("POST member2/configmaps next", "DELETE member2/configmaps settings")
    assert arrived < left
    assert before, "it was there"


@in_world()
async def test_what_two_need_stays_where_one_of_them_is(world: World) -> None:
    await apply(world.client, config("settings"), followed("web", by_weight(TWO)))
    await apply(world.client, followed("api", by_weight({"member2": 1, "member3": 1})))
    await apply(world.client, reading("web", "settings"), reading("api", "settings"))
    both = {"api-deployment": ["member2", "member3"], "web-deployment": ["member1", "member2"]}
    await world.until(lambda: needed_in(world, "settings-configmap") == both)
    await world.sleep(30)
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    assert set(before) == {"member1", "member2", "member3"}
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: world.binding("web-deployment") is None)
    await world.until(lambda: needed_in(world, "settings-configmap") == {"api-deployment": ["member2", "member3"]})
    await world.sleep(30)
    after = await identities(world, "settings", resource=CONFIG_MAPS)
    assert after == {member: before[member] for member in ("member2", "member3")}
    attached = world.binding("settings-configmap")
    assert attached is not None
    labels = [label for label in attached.metadata.labels if "depended-by" in label]
    assert labels == [depended_by_label("default", "api-deployment")]
    await world.client.delete(DEPLOYMENTS, "api", "default")
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.until(lambda: world.binding("api-deployment") is None)
    await world.sleep(10)
    assert not await identities(world, "settings", resource=CONFIG_MAPS)
    assert (await world.client.get(CONFIG_MAPS, "settings", "default"))["data"] == {"value": "1"}


@in_world()
async def test_a_policy_of_its_own_and_those_that_need_it_are_a_union(world: World) -> None:
    await apply(world.client, config("settings"), followed("web", by_weight({"member1": 1})))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": ["member1"]})
    here = {"clusterAffinity": {"clusterNames": ["member3"]}}
    await apply(world.client, policy("settings", here, "ConfigMap", "v1"))
    await world.until(lambda: set(world.assigned("settings-configmap")) == {"member3"})
    await world.sleep(30)
    assert set(await identities(world, "settings", resource=CONFIG_MAPS)) == {"member1", "member3"}
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: not needed_in(world, "settings-configmap"))
    await world.sleep(30)
    assert set(await identities(world, "settings", resource=CONFIG_MAPS)) == {"member3"}
    assert set(world.assigned("settings-configmap")) == {"member3"}


@in_world()
async def test_an_object_that_comes_later_follows_then_and_one_made_anew_again(world: World) -> None:
    await apply(world.client, followed("web", by_weight(TWO)), reading("web", "settings"))
    await world.until(lambda: len(world.assigned("web-deployment")) == 2)
    await world.sleep(30)
    assert named(world, "member1", "Deployment", "web") is not None, "what there is not is not waited for"
    for _ in range(2):
        await apply(world.client, config("settings"))
        await world.until(lambda: bool(needed_in(world, "settings-configmap")))
        await world.sleep(30)
        assert set(await identities(world, "settings", resource=CONFIG_MAPS)) == set(TWO)
        await world.client.delete(CONFIG_MAPS, "settings", "default")
        await world.until(lambda: world.binding("settings-configmap") is None)
        await world.sleep(30)
        assert not await identities(world, "settings", resource=CONFIG_MAPS), "the user has deleted it"


@in_world()
async def test_those_who_need_an_object_and_disagree_are_told_and_the_stricter_decides(world: World) -> None:
    strict = {"conflictResolution": "Overwrite", "preserveResourcesOnDeletion": True}
    await apply(world.client, config("settings"), followed("web", by_weight(TWO), **strict))
    await apply(world.client, followed("api", by_weight(TWO)))
    await apply(world.client, reading("web", "settings"), reading("api", "settings"))
    await world.until(lambda: len(needed_in(world, "settings-configmap")) == 2)
    await world.sleep(30)
    attached = world.binding("settings-configmap")
    assert attached is not None
    assert (attached.spec.conflict_resolution, attached.spec.preserve_resources_on_deletion) == ("Overwrite", True)
    assert (await reasons(world))["DependencyPolicyConflict"] == [
        "Dependency policy conflict detected: ConflictResolution conflicted (Overwrite vs Abort); "
        "PreserveResourcesOnDeletion conflicted (true vs false)."
    ]
    calm = {"spec": {"conflictResolution": "Abort", "preserveResourcesOnDeletion": False}}
    await world.client.patch(POLICIES, "web", calm, "default")
    await world.sleep(30)
    attached = world.binding("settings-configmap")
    assert attached is not None
    assert (attached.spec.conflict_resolution, attached.spec.preserve_resources_on_deletion) == ("Abort", False)
    assert len((await reasons(world))["DependencyPolicyConflict"]) == 1


@in_world()
async def test_a_policy_that_lets_nothing_follow_any_more_lets_it_go(world: World) -> None:
    await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(30)
    await world.client.patch(POLICIES, "web", {"spec": {"propagateDeps": False}}, "default")
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.sleep(30)
    assert not await identities(world, "settings", resource=CONFIG_MAPS)
    dependant = world.binding("web-deployment")
    assert dependant is not None
    assert DEPENDENCIES_DISTRIBUTOR_FINALIZER not in dependant.metadata.finalizers
    assert DEPENDENCIES_ANNOTATION not in dependant.metadata.annotations


def test_without_the_gate_nothing_follows() -> None:
    off = ManagerSettings(gates=switch_gates([("PropagateDeps", False)]))

    async def story(world: World) -> None:
        await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
        await world.until(lambda: len(world.assigned("web-deployment")) == 2)
        await world.sleep(30)
        assert not await identities(world, "settings", resource=CONFIG_MAPS)
        assert set(await identities(world, "web")) == set(TWO)

    play(story, manager=off)


class Order:
    """Writes and their places, in the order in which they are done: `POST member1/configmaps settings`."""

    def __init__(self, world: World) -> None:
        self.done: list[str] = []
        world.place.audit = self._of("")
        for name, member in world.members.items():
            member.place.audit = self._of(f"{name}/")

    def _of(self, place: str) -> Callable[[Request, Callable[[], Answering]], Answering]:
        async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
            answered = await answer()
            parts = request.path.partition("?")[0].split("/")
            if request.method in ("POST", "DELETE") and "namespaces" in parts:
                at = parts.index("namespaces")
                space, kind = parts[at + 1 : at + 3]
                names = parts[at + 3 :] or [decode_any(request.body)["metadata"]["name"]]
                if kind in ("works", "configmaps", "deployments"):
                    where = space.removeprefix("karmada-es-") + "/" if kind == "works" else place
                    self.done.append(f"{request.method} {where}{kind} {names[0]}")
            return answered

        return audit

    def positions(self, *wanted: str) -> list[int]:
        """Raises: ValueError for what was not done."""
        return [self.done.index(each) for each in wanted]


@in_world({"member1": "Push", "member2": "Push", "member3": "Push"})
async def test_in_a_failover_what_is_needed_comes_before_the_copy_and_leaves_after_it(world: World) -> None:
    app, needed = work_name("Deployment", "web", "default"), work_name("ConfigMap", "settings", "default")
    await apply(world.client, config("settings"), followed("web", one_of("member1", "member2")))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: bool(world.assigned("web-deployment")))
    (before,) = world.assigned("web-deployment")
    (after,) = {"member1", "member2"} - {before}
    await world.sleep(60)
    order = Order(world)
    await world.member(before).stop()
    await world.until(lambda: world.assigned("web-deployment") == {after: 2})
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": ["member1", "member2"]})
    await world.until(lambda: not tasks(world, "web-deployment"))
    await world.sleep(30)
    assert await ready_replicas(world, after, "web") == 2
    arrival = order.positions(
        f"POST {after}/works {needed}",
        f"POST {after}/configmaps settings",
        f"POST {after}/works {app}",
        f"POST {after}/deployments web",
    )
    assert arrival == sorted(arrival), order.done
    assert needed_in(world, "settings-configmap") == {"web-deployment": ["member1", "member2"]}, "its Work is there"
    (uid,) = (await identities(world, "settings", [after], CONFIG_MAPS)).values()
    await world.member(before).start()
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": [after]})
    await world.sleep(120)
    departure = order.positions(
        f"DELETE {before}/works {app}",
        f"DELETE {before}/deployments web",
        f"DELETE {before}/works {needed}",
        f"DELETE {before}/configmaps settings",
    )
    assert departure == sorted(departure), order.done
    assert await identities(world, "settings", resource=CONFIG_MAPS) == {after: uid}
    assert "DependenciesMissing" not in await reasons(world)


@in_world({"member1": "Push", "member2": "Push"})
async def test_a_template_that_names_too_many_objects_says_so_and_keeps_those_that_follow(world: World) -> None:
    """An annotation beyond 256 KiB was refused by the API server, and the refusal was in the log alone."""
    await apply(world.client, config("one"), followed("app", one_of("member1")), reading("app", "one"))
    await world.until(lambda: bool(needed_in(world, "one-configmap")), 60)
    await world.sleep(30)
    before = needed_in(world, "one-configmap")
    many = ["one", *(f"config-{number}" for number in range(3_000))]
    await world.client.patch(DEPLOYMENTS, "app", {"spec": reading("app", *many)["spec"]}, "default")
    await world.sleep(60)
    events = (await world.client.list(EVENTS, "default")).items
    told = {each.involved_object.kind: each.message for each in events if "propagate them by a policy" in each.message}
    assert told.keys() == {"Deployment", "ResourceBinding"}
    assert told["Deployment"].startswith("it names 3001 objects")
    assert needed_in(world, "one-configmap") == before
