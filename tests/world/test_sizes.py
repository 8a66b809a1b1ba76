"""The size of a replacement: an autoscaler in the cluster that is left runs more replicas than are asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from kubeapi.codec import render_yaml
from kubeapi.core import PODS
from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.api.names import (
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    KEEP_UNTIL_ANNOTATION,
    RETAIN_REPLICAS_LABEL,
    TIME_TO_START_ANNOTATION,
)
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.core.propagation.autoscaled import FLOOR_UNTIL_ANNOTATION
from leeward.manager.settings import ManagerSettings
from leeward.operations.drain import start_drain, undo_drain
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    play,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_autoscaled import AUTOSCALERS, NAMED, autoscaler, deployed, load, web
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

WEB = "web-deployment"
TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
THREE: dict[str, Mode] = {**TWO, "member3": "Pull"}
ONE_OF_ALL = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}
NO_ANNOTATIONS: Mapping[str, str] = {}
COPY_IN_ONE = {"spreadConstraints": ONE_OF_ALL["spreadConstraints"]}
STATIC = by_weight({"member1": 9, "member2": 1})
"""Four replicas are all for the first, and for the other where that is being drained."""
EACH_WAY = pytest.mark.parametrize(
    "placement", [ONE_OF_ALL, STATIC, COPY_IN_ONE], ids=["dynamic", "static", "duplicated"]
)


async def size(world: World, name: str) -> int:
    """Replicas that the object in the member asks for; 0 where it is not there."""
    try:
        return (await world.member(name).client.get(DEPLOYMENTS, "web", "default"))["spec"]["replicas"]
    except NotFound:
        return 0


async def least(world: World, name: str) -> int:
    """`minReplicas` of the autoscaler in the member; 0 where it is not there."""
    try:
        return (await world.member(name).client.get(AUTOSCALERS, "web", "default"))["spec"]["minReplicas"]
    except NotFound:
        return 0


async def scaled(
    world: World,
    placement: Manifest = ONE_OF_ALL,
    *,
    retained: bool = True,
    most: int = 20,
    failover: Manifest | None = None,
    annotations: Mapping[str, str] = NO_ANNOTATIONS,
) -> str:
    """Four replicas are asked for. An autoscaler in every member; its load has one of them run twelve: which."""
    replicas, of_web = 12, policy("web", placement)
    of_web["metadata"]["annotations"] = {**annotations}
    of_web["spec"] |= {"failover": failover, "propagateDeps": True} if failover is not None else {}
    made, scaler = web(), autoscaler()
    if retained:
        made["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
    scaler["spec"]["maxReplicas"] = most
    of_scaler = policy("web", {}, AUTOSCALERS.kind, AUTOSCALERS.api_version)
    of_scaler["metadata"]["name"] = "scaler"
    await world.client.create(AUTOSCALERS, scaler, "default")
    await world.client.create(POLICIES, of_scaler, "default")
    await apply(world.client, made, of_web)
    await world.until(lambda: bool(world.assigned(WEB)), 60)
    (home,) = world.assigned(WEB)
    for _ in range(60):
        try:
            await load(world, home, f"{replicas * 50}m")
            break
        except NotFound:
            await world.sleep(1)
    for _ in range(60):
        if await ready_replicas(world, home, "web") == replicas:
            break
        await world.sleep(5)
    assert await ready_replicas(world, home, "web") == replicas
    return home


@dataclass
class Watched:
    """Ready replicas by member, second by second."""

    seen: list[dict[str, int]] = field(default_factory=list[dict[str, int]])

    @property
    def least(self) -> int:
        return min(sum(each.values()) for each in self.seen)

    @property
    def seconds(self) -> float:
        return len(self.seen) / 4


async def watch(world: World, seconds: int, until: Callable[[], bool] = lambda: False, *, follows: int = 0) -> Watched:
    """The load `follows` to where so many are ready."""
    found = Watched()
    for _ in range(4 * seconds):
        there = {name: max(0, await ready_replicas(world, name, "web")) for name in world.members}
        found.seen.append(there)
        for name in [name for name, ready in there.items() if follows and ready == follows]:
            await load(world, name, f"{50 * follows}m")
        if until():
            break
        await world.sleep(0.25)
    return found


def other(world: World, home: str) -> str:
    return next(name for name in world.members if name != home)


async def run_few(world: World, name: str) -> None:
    """Four replicas come to run in the member, and then it has no room for more."""
    for _ in range(600):
        if await ready_replicas(world, name, "web") == 4:
            break
        await world.sleep(0.1)
    await without_room(world, name)


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
def test_s1_a_drain_makes_the_replacement_as_large_as_what_its_autoscaler_runs(placement: Manifest) -> None:
    async def story(world: World) -> None:
        home = await scaled(world, placement)
        there = other(world, home)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 540, lambda: not tasks(world, WEB), follows=12)
        assert tasks(world, WEB) == []
        assert seen.least >= 12
        for _ in range(280):
            await world.sleep(1)
            assert await ready_replicas(world, there, "web") == 12
        await world.sleep(60)
        assert await size(world, home) == 0
        assert await least(world, there) == 1, "its autoscaler decides again"

    play(story, TWO)


def test_s1_a_drain_ends_where_the_template_follows_its_autoscalers() -> None:
    async def story(world: World) -> None:
        home = await scaled(world, retained=False)
        await world.sleep(60)
        template = await world.client.get(DEPLOYMENTS, "web", "default")
        assert template["spec"]["replicas"] == 12
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 540, lambda: not tasks(world, WEB), follows=12)
        assert tasks(world, WEB) == []
        assert seen.least >= 12

    play(story, TWO, manager=NAMED)


@pytest.mark.parametrize("follows", [False, True], ids=["its own replicas", "the template follows"])
def test_s1_a_copy_that_was_there_before_grows_to_what_it_replaces(*, follows: bool) -> None:
    """The load comes only when the old copy is gone."""

    async def story(world: World) -> None:
        await deployed(world)
        await world.client.patch(AUTOSCALERS, "web", {"spec": {"maxReplicas": 20}}, "default")
        if not follows:
            kept = {"metadata": {"labels": {RETAIN_REPLICAS_LABEL: "true"}}}
            await world.client.patch(DEPLOYMENTS, "web", kept, "default")
        await load(world, "member1", "400m")
        await load(world, "member2", "100m")
        await world.sleep(150)
        assert [await size(world, name) for name in TWO] == [8, 2]
        await start_drain(world.client, "member1", None)
        await world.until(lambda: tasks(world, WEB) == ["member1"], 60)
        seen = await watch(world, 240, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert seen.least >= 10

    play(story, TWO, manager=NAMED if follows else None)


def test_a_copy_that_was_there_before_keeps_its_own_size_where_fewer_run_than_are_asked_for() -> None:
    """No load asks for as many: its autoscaler decides, and the drain is held."""

    async def story(world: World) -> None:
        await deployed(world)
        kept = {"metadata": {"labels": {RETAIN_REPLICAS_LABEL: "true"}}}
        await world.client.patch(DEPLOYMENTS, "web", kept, "default")
        for name in TWO:
            await load(world, name, "50m")
        await world.sleep(400)
        assert [await size(world, name) for name in TWO] == [1, 1]
        await start_drain(world.client, "member1", None)
        await world.until(lambda: tasks(world, WEB) == ["member1"], 60)
        for _ in range(60):
            await world.sleep(1)
            assert await least(world, "member2") == 1
        assert tasks(world, WEB) == ["member1"]
        assert await ready_replicas(world, "member1", "web") == 1

    play(story, TWO)


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
def test_replicas_that_a_user_asks_for_meanwhile_are_no_surplus(placement: Manifest) -> None:
    async def story(world: World) -> None:
        home = await scaled(world, placement)
        there = other(world, home)
        await without_room(world, there)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 10}}, "default")
        await world.sleep(5)
        await with_room(world, there)
        seen = await watch(world, 540, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert seen.least >= 12
        assert seen.seen[-1][there] == 12

    play(story, TWO)


FAILS_OVER = {"application": {"decisionConditions": {"tolerationSeconds": 20}, "purgeMode": "Gracefully"}}


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
def test_s12_a_replacement_that_serves_all_it_is_assigned_has_not_failed(placement: Manifest) -> None:
    """The autoscaler asks for more than there is room for."""

    async def story(world: World) -> None:
        home = await scaled(world, placement, failover=FAILS_OVER)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        (there,) = world.assigned(WEB)
        await run_few(world, there)
        await world.until(lambda: not tasks(world, WEB), 120)
        binding = await world.client.get(RESOURCE_BINDINGS, WEB, "default")
        for _ in range(180):
            await world.sleep(1)
            assert await least(world, there) == 4, "no more than is ready"
        later = await world.client.get(RESOURCE_BINDINGS, WEB, "default")
        assert later.metadata.generation == binding.metadata.generation

    play(story, THREE)


@pytest.mark.parametrize("rolls", [False, True], ids=["at rest", "in a rollout"])
def test_s1_a_new_leader_keeps_the_floors_of_a_drain_that_is_over(*, rolls: bool) -> None:
    """A floor ends for it at the instant at which it would have ended."""

    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.until(lambda: not tasks(world, WEB), 540)
        for turn in range(4):
            await world.stop_controllers()
            world.start_controllers()
            if rolls:
                pod = {"metadata": {"annotations": {"turn": f"{turn}"}}}
                await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": pod}}, "default")
            for _ in range(60):
                await world.sleep(1)
                assert await least(world, there) == 12
                assert await size(world, there) == 12
        await world.sleep(90)
        assert await least(world, there) == 1
        found = await world.member(there).client.get(AUTOSCALERS, "web", "default")
        assert FLOOR_UNTIL_ANNOTATION not in found["metadata"]["annotations"]

    play(story, TWO)


def test_s1_a_copy_keeps_the_size_that_it_has_where_the_old_one_dies_in_the_middle() -> None:
    """The load of the dead one comes, too."""

    async def story(world: World) -> None:
        gate = {"apiVersion": "v1", "kind": "ConfigMap", "in": "ControlPlane", "for": "jsonpath={.data.synced}=yes"}
        home = await scaled(world, annotations={KEEP_UNTIL_ANNOTATION: render_yaml(gate)})
        there = other(world, home)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(120)
        assert await ready_replicas(world, there, "web") == 12
        await world.member(home).stop()
        await world.until(lambda: not world.is_ready(home), 120)
        await world.client.patch(AUTOSCALERS, "web", {"metadata": {"labels": {"render": "anew"}}}, "default")
        for _ in range(240):
            await world.sleep(1)
            assert await size(world, there) == 12
        await world.sleep(360)
        assert await least(world, there) == 1

    play(story, TWO)


def test_s1_a_drain_just_after_another_leaves_the_size_to_the_copy_that_goes() -> None:
    """No load has come yet."""

    async def story(world: World) -> None:
        home = await scaled(world)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.until(lambda: not tasks(world, WEB), 540)
        (there,) = world.assigned(WEB)
        await start_drain(world.client, there, None)
        await world.until(lambda: tasks(world, WEB) == [there], 60)
        seen = await watch(world, 240, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert seen.least >= 12

    play(story, THREE)


def test_a_floor_is_about_one_target() -> None:
    """The autoscaler scales another application from now on."""

    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        made, of_other = deployment("other", 1), policy("other", COPY_IN_ONE)
        made["metadata"]["labels"] = {RETAIN_REPLICAS_LABEL: "true"}
        await apply(world.client, made, of_other)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.until(lambda: not tasks(world, WEB), 540)
        assert (await least(world, there), world.assigned("other-deployment")) == (12, {there: 1})
        target = {**autoscaler()["spec"]["scaleTargetRef"], "name": "other"}
        await world.client.patch(AUTOSCALERS, "web", {"spec": {"scaleTargetRef": target}}, "default")
        await world.sleep(10)
        assert await least(world, there) == 1

    play(story, TWO)


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
def test_a_copy_that_replaces_none_fails_over_though_it_serves_all_it_is_assigned(placement: Manifest) -> None:
    """Eight of twelve are lost for good, and the load needs them."""

    async def story(world: World) -> None:
        home = await scaled(world, placement, failover=FAILS_OVER)
        await without_room(world, home)
        client = world.member(home).client
        for pod in (await client.list(PODS, "default")).items[:8]:
            await client.delete(PODS, pod.name, "default")
        await world.sleep(5)
        assert await ready_replicas(world, home, "web") == 4
        await world.until(lambda: home not in world.assigned(WEB), 120)

    play(story, THREE)


def test_s12_a_replacement_that_serves_all_it_is_assigned_is_not_stalled() -> None:
    async def story(world: World) -> None:
        home = await scaled(world, COPY_IN_ONE, annotations={TIME_TO_START_ANNOTATION: "20s"})
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        (there,) = world.assigned(WEB)
        await run_few(world, there)
        for _ in range(240):
            await world.sleep(1)
            assert list(world.assigned(WEB)) == [there]
        assert tasks(world, WEB) == []

    play(story, THREE)


def test_a_move_that_a_person_makes_has_no_floors() -> None:
    """No eviction bounds it."""

    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await without_room(world, there)
        placement = {**ONE_OF_ALL, "clusterAffinity": {"clusterNames": [there]}}
        await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")
        await world.until(lambda: list(world.assigned(WEB)) == [there], 60)
        for _ in range(30):
            await world.sleep(1)
            assert await least(world, there) == 1
        assert await ready_replicas(world, home, "web") == 12

    play(story, TWO)


def test_s1_a_target_that_dies_while_it_is_waited_for_passes_its_size_on() -> None:
    """The eviction of the target begins with the end of the first grace period."""

    async def story(world: World) -> None:
        home = await scaled(world)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        (lost,) = world.assigned(WEB)
        await run_few(world, lost)
        await world.member(lost).stop()
        await world.until(lambda: lost not in world.assigned(WEB), 900)
        (there,) = world.assigned(WEB)
        while home in tasks(world, WEB) or await ready_replicas(world, home, "web") > 0:
            ready = [await ready_replicas(world, name, "web") for name in (home, there)]
            assert sum(max(0, count) for count in ready) >= 12
            await world.sleep(1)
        assert await ready_replicas(world, there, "web") == 12

    play(story, THREE)


def test_floors_end_with_the_grace_period_and_the_copy_stays() -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await without_room(world, there)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(590)
        assert await least(world, there) == 12
        await world.sleep(15)
        assert await least(world, there) == 1
        assert tasks(world, WEB) == [home]
        assert await ready_replicas(world, home, "web") == 12

    play(story, TWO)


def test_s1_a_policy_that_asks_for_fewer_lets_no_drain_end() -> None:
    """A taint does not say that its owner wants fewer to serve."""

    async def story(world: World) -> None:
        await apply(world.client, web(), policy("web", ONE_OF_ALL))
        await world.until(lambda: bool(world.assigned(WEB)), 60)
        await world.sleep(30)
        (home,) = world.assigned(WEB)
        one = replacing("/spec/replicas", 1)
        fewer = overriding("fewer", {"name": "web"}, only(other(world, home)), plaintext=one)
        await world.client.create(OVERRIDES, fewer, "default")
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 900)
        assert all(each[home] == 4 for each in seen.seen)

    play(story, TWO)


async def override(world: World, replicas: Mapping[str, int | None]) -> None:
    """Policies have so many run in each cluster; None: as many as are asked for."""
    for name, count in replicas.items():
        if count is not None:
            rule = overriding(name, {"name": "web"}, only(name), plaintext=replacing("/spec/replicas", count))
            await world.client.create(OVERRIDES, rule, "default")


async def placed_with(world: World, placement: Manifest, here: int | None = None, there: int | None = None) -> str:
    """Four are asked for; policies have so many run where they are placed, which is returned, and elsewhere."""
    await apply(world.client, web(), policy("web", placement))
    await world.until(lambda: bool(world.assigned(WEB)), 60)
    (home,) = world.assigned(WEB)
    await override(world, {home: here, other(world, home): there})
    await world.sleep(60)
    return home


@EACH_WAY
@pytest.mark.parametrize(("here", "there", "ends"), [(2, 2, True), (1, 2, True), (2, 1, False)])
def test_s1_a_drain_ends_where_policies_have_as_many_run_as_it_takes_away(
    placement: Manifest, here: int, there: int, *, ends: bool
) -> None:
    """Four are asked for, and nowhere do so many run."""

    async def story(world: World) -> None:
        home = await placed_with(world, placement, here, there)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 300, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == ([] if ends else [home])
        assert seen.least >= here

    play(story, TWO)


@pytest.mark.parametrize("seconds", [20, 120])
def test_s1_parts_that_were_there_before_keep_a_load_of_their_own(seconds: int) -> None:
    """Policies have one of two run in each cluster. Three served, and a drain would leave two."""

    async def story(world: World) -> None:
        thirds = dict.fromkeys(THREE, 1)
        template = {**web(), "spec": {**web()["spec"], "replicas": 6}}
        await apply(world.client, template, policy("web", by_weight(thirds)))
        rule = overriding("one", {"name": "web"}, plaintext=replacing("/spec/replicas", 1))
        await world.client.create(OVERRIDES, rule, "default")
        await world.sleep(seconds)
        await start_drain(world.client, "member1", None)
        await world.until(lambda: tasks(world, WEB) == ["member1"], 60)
        seen = await watch(world, 300)
        assert seen.least == 3
        assert tasks(world, WEB) == ["member1"]

    play(story, THREE)


@EACH_WAY
def test_s1_a_restart_of_pods_takes_no_load_from_a_copy_that_is_drained(placement: Manifest) -> None:
    """A policy has two run elsewhere. Two of four that are to run are not ready for a minute."""

    async def story(world: World) -> None:
        home = await placed_with(world, placement, there=2)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(60)
        await without_room(world, home)
        client = world.member(home).client
        for pod in (await client.list(PODS, "default")).items[:2]:
            await client.delete(PODS, pod.name, "default")
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(60)
        assert await ready_replicas(world, home, "web") == 2
        await with_room(world, home)
        await world.sleep(60)
        assert await ready_replicas(world, home, "web") == 4
        assert tasks(world, WEB) == [home]

    play(story, TWO)


@EACH_WAY
def test_s1_a_copy_that_a_drain_keeps_is_there_when_the_drain_is_undone_and_done_again(placement: Manifest) -> None:
    async def story(world: World) -> None:
        home = await placed_with(world, placement, there=2)
        for _ in range(2):
            await start_drain(world.client, home, None)
            await world.until(lambda: tasks(world, WEB) == [home], 60)
            await world.sleep(60)
            await undo_drain(world.client, home)
            seen = await watch(world, 60)
            assert seen.least >= 4

    play(story, TWO)


@EACH_WAY
def test_s1_a_lost_copy_is_there_with_all_when_its_cluster_returns(placement: Manifest) -> None:
    """A policy has two run elsewhere meanwhile."""

    async def story(world: World) -> None:
        home = await placed_with(world, placement, there=2)
        await world.member(home).stop()
        await world.until(lambda: tasks(world, WEB) == [home], 900)
        await world.sleep(60)
        assert await ready_replicas(world, other(world, home), "web") == 2
        await world.member(home).start()
        await world.sleep(1)
        seen = await watch(world, 120)
        assert seen.least >= 4

    play(story, TWO)


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
def test_s1_a_lost_copy_that_scales_itself_does_not_go_for_one(placement: Manifest) -> None:
    """Twelve run where nobody sees them, and a policy has one run elsewhere."""

    async def story(world: World) -> None:
        home = await scaled(world, placement)
        there = other(world, home)
        await override(world, {there: 1})
        await world.member(home).stop()
        await world.until(lambda: tasks(world, WEB) == [home], 900)
        await world.sleep(60)
        assert tasks(world, WEB) == [home]
        assert await ready_replicas(world, there, "web") == 1
        await world.member(home).start()
        await world.sleep(1)
        seen = await watch(world, 300)
        assert all(each[home] == 12 for each in seen.seen)

    play(story, TWO)


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
def test_l2_a_copy_that_runs_as_many_as_a_policy_wants_is_not_moved_on(placement: Manifest) -> None:
    """Four are asked for, and one runs. It would go round from cluster to cluster, once in every grace period."""

    async def story(world: World) -> None:
        home = await placed_with(world, placement)
        await override(world, dict.fromkeys(THREE, 1))
        await world.sleep(60)
        await start_drain(world.client, home, None)
        await world.until(lambda: home not in world.assigned(WEB) and not tasks(world, WEB), 120)
        placed = world.assigned(WEB)
        for _ in range(90):
            await world.sleep(10)
            assert world.assigned(WEB) == placed
            assert tasks(world, WEB) == []

    play(story, THREE)


@pytest.mark.parametrize("gap", [0.5, 20])
@pytest.mark.parametrize(("runs", "there"), [(2, 2), (None, 5), (2, 4)])
def test_s1_a_new_part_replaces_no_more_than_it_runs_where_two_clusters_are_drained(
    runs: int | None, there: int, gap: float
) -> None:
    """Three of six are in each of two clusters, and policies have two of them run. The second drain follows soon."""

    async def story(world: World) -> None:
        strategy = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
        two = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}
        dynamic = {**strategy, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
        template = {**web(), "spec": {**web()["spec"], "replicas": 6}}
        await apply(world.client, template, policy("web", {"replicaScheduling": dynamic, "spreadConstraints": [two]}))
        await world.until(lambda: len(world.assigned(WEB)) == 2, 60)
        (new,) = THREE.keys() - world.assigned(WEB).keys()
        await override(world, {**dict.fromkeys(THREE, runs), new: there})
        await world.sleep(60)
        for name in sorted(THREE.keys() - {new}):
            await start_drain(world.client, name, None)
            await world.sleep(gap)
        seen = await watch(world, 120)
        assert seen.least >= 2 * (runs or 3)

    play(story, THREE)


@pytest.mark.parametrize(("here", "ends"), [(None, 2), (1, 1), (3, 3)])
def test_s1_parts_return_from_where_a_policy_has_fewer_run(here: int | None, ends: int) -> None:
    """Two of four have returned at the end. A policy has two run elsewhere, and another so many at home."""

    async def story(world: World) -> None:
        of_web = policy("web", by_weight(dict.fromkeys(TWO, 1)))
        of_web["metadata"]["annotations"] = {FAILBACK_ANNOTATION: "Automatic", FAILBACK_PACE_ANNOTATION: "100%"}
        await apply(world.client, web(), of_web)
        await world.until(lambda: bool(world.assigned(WEB)), 60)
        await override(world, {"member1": here})
        await world.sleep(60)
        await world.member("member1").stop()
        await world.until(lambda: world.assigned(WEB) == {"member2": 4} and not tasks(world, WEB), 900)
        await world.member("member1").start()
        await override(world, {"member2": 2})
        await world.sleep(60)
        seen = await watch(world, 900, lambda: "member1" in world.assigned(WEB) and not tasks(world, WEB))
        assert world.assigned(WEB) == {"member1": 2, "member2": 2}
        assert seen.least == 2
        await world.sleep(10)
        assert [await ready_replicas(world, name, "web") for name in TWO] == [ends, 2]

    play(story, TWO)


@EACH_WAY
@pytest.mark.parametrize("moment", [0.2, 1, 5])
def test_s1_an_override_that_goes_during_a_drain_has_all_that_is_asked_for_run(
    placement: Manifest, moment: float
) -> None:
    async def story(world: World) -> None:
        home = await placed_with(world, placement, here=2, there=2)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(moment)
        for name in world.members:
            await world.client.delete(OVERRIDES, name, "default")
        seen = await watch(world, 120, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert seen.least >= 2
        await world.sleep(60)
        assert await ready_replicas(world, other(world, home), "web") == 4

    play(story, TWO)


@EACH_WAY
@pytest.mark.parametrize(("here", "there", "ends"), [(2, 2, True), (None, 2, False), (2, None, True)])
@pytest.mark.parametrize("moment", [0.2, 2, 10])
def test_s1_an_override_that_comes_during_a_drain_leaves_as_many_as_ran(
    placement: Manifest, moment: float, here: int | None, there: int | None, *, ends: bool
) -> None:
    async def story(world: World) -> None:
        home = await placed_with(world, placement)
        away = other(world, home)
        await without_room(world, away)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(moment)
        await override(world, {home: here, away: there})
        await with_room(world, away)
        seen = await watch(world, 240, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == ([] if ends else [home])
        assert seen.least >= (here or 4)

    play(story, TWO)


@EACH_WAY
def test_s1_a_drain_between_policies_that_have_more_run_than_is_asked_for(placement: Manifest) -> None:
    async def story(world: World) -> None:
        home = await placed_with(world, placement, here=8, there=8)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 240, lambda: not tasks(world, WEB))
        await world.sleep(60)
        assert tasks(world, WEB) == []
        assert seen.least >= 4
        assert await ready_replicas(world, other(world, home), "web") == 8

    play(story, TWO)


@pytest.mark.parametrize("placement", [ONE_OF_ALL, COPY_IN_ONE], ids=["divided", "duplicated"])
@pytest.mark.parametrize("scales", [True, False], ids=["autoscaler there", "no autoscaler there"])
def test_s1_an_override_beside_autoscalers_leaves_the_size_to_them(placement: Manifest, *, scales: bool) -> None:
    """Twelve run. A policy has a new copy begin with two; where nobody scales it, the old one stays."""

    async def story(world: World) -> None:
        home = await scaled(world, placement)
        there = other(world, home)
        await override(world, {there: 2})
        if not scales:
            suspension = {"suspension": {"dispatchingOnClusters": {"clusterNames": [there]}}}
            await world.client.patch(POLICIES, "scaler", {"spec": suspension}, "default")
            await world.sleep(10)
            await world.member(there).client.delete(AUTOSCALERS, "web", "default")
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 400, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == ([] if scales else [home])
        assert seen.least >= 12
        await world.sleep(20)
        assert await ready_replicas(world, there if scales else home, "web") == 12

    play(story, TWO)


@pytest.mark.parametrize("wait", [0, 10], ids=["is there", "is not there"])
def test_s1_an_autoscaler_that_is_not_dispatched_shrinks_nothing_and_holds_no_drain_for_ever(wait: int) -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        suspension = {"suspension": {"dispatchingOnClusters": {"clusterNames": [there]}}}
        await world.client.patch(POLICIES, "scaler", {"spec": suspension}, "default")
        await world.sleep(wait)
        await world.member(there).client.delete(AUTOSCALERS, "web", "default")
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        seen = await watch(world, 900, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert seen.least >= 4
        assert seen.seen[-1][there] == 4

    play(story, TWO)


def test_s1_a_drain_goes_on_with_what_is_asked_for_once_no_more_become_ready() -> None:
    """Nobody waits for the whole grace period where there is no room."""

    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await start_drain(world.client, home, None)
        await run_few(world, there)
        seen = await watch(world, 900, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert 55 <= seen.seconds <= 100
        assert seen.seen[-1][there] >= 4
        assert await size(world, home) == 0

    play(story, TWO)


def test_a_copy_in_a_dead_cluster_makes_nothing_larger_and_holds_nothing() -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await world.member(home).stop()
        await world.until(lambda: tasks(world, WEB) == [home], 900)
        for _ in range(20):
            await world.sleep(1)
            assert await least(world, there) == 1
        assert tasks(world, WEB) == []
        assert world.assigned(WEB) == {there: 4}

    play(story, TWO)


def test_a_drain_that_is_undone_leaves_no_floor() -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await without_room(world, there)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(20)
        assert await least(world, there) == 12
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(30)
        assert await least(world, there) == 12
        await undo_drain(world.client, home)
        await world.sleep(60)
        assert tasks(world, WEB) == []
        assert world.assigned(WEB) == {home: 4}
        assert await least(world, there) == 1
        assert await ready_replicas(world, home, "web") == 12

    play(story, TWO)


def test_a_users_scale_down_is_carried_out_while_a_copy_leaves() -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await without_room(world, there)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, "default")
        await world.sleep(30)
        assert world.assigned(WEB) == {there: 2}
        assert await ready_replicas(world, home, "web") == 12
        await with_room(world, there)
        seen = await watch(world, 900, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert seen.seen[-1][there] >= 2

    play(story, TWO)


def test_sizes_do_not_feed_themselves_from_one_drain_to_the_next() -> None:
    async def story(world: World) -> None:
        home = await scaled(world, most=100)
        floors = {1}
        left: list[str] = []
        for _ in range(2):
            (at,) = world.assigned(WEB)
            left.append(at)
            await start_drain(world.client, at, None)
            await world.until(lambda at=at: at in tasks(world, WEB), 60)
            for _ in range(8):
                for name in world.members:
                    floors.add(await least(world, name))
                await world.sleep(1)
        assert left[0] == home
        assert max(floors) == 12
        await world.sleep(1200)
        assert tasks(world, WEB) == []

    play(story, THREE)


def test_pods_that_a_rollout_makes_beside_the_others_are_no_surplus() -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        surge = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}}
        pod = {"template": {"spec": {"nodeSelector": {"no": "such"}}}}
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {**surge, **pod}}, "default")
        await world.sleep(30)
        found = await world.member(home).client.get(DEPLOYMENTS, "web", "default")
        assert found["status"]["replicas"] == 24
        await start_drain(world.client, home, None)
        floors = set[int]()
        for _ in range(60):
            await world.sleep(10)
            floors.add(await least(world, there))
        assert floors == {12}

    play(story, TWO)


def test_s9_a_member_of_which_the_autoscaler_is_its_own_is_not_written_against() -> None:
    """Nobody raises it, and the drain ends with what is asked for."""

    async def story(world: World) -> None:
        made = web()
        made["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
        await apply(world.client, made, policy("web", ONE_OF_ALL))
        await world.until(lambda: bool(world.assigned(WEB)), 60)
        await world.sleep(20)
        (home,) = world.assigned(WEB)
        there = other(world, home)
        for name in TWO:
            await world.member(name).client.create(AUTOSCALERS, autoscaler(), "default")
        await load(world, home, "400m")
        await world.sleep(120)
        assert await ready_replicas(world, home, "web") == 8
        before = await identities(world, "web", [there], AUTOSCALERS)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        for _ in range(60):
            if await ready_replicas(world, there, "web") == 4:
                break
            await world.sleep(0.2)
        await load(world, there, "300m")
        await watch(world, 1000, lambda: not tasks(world, WEB))
        assert tasks(world, WEB) == []
        assert await ready_replicas(world, there, "web") >= 4
        assert await identities(world, "web", [there], AUTOSCALERS) == before

    play(story, TWO)


def test_karmada_exact_knows_no_sizes() -> None:
    async def story(world: World) -> None:
        home = await scaled(world)
        there = other(world, home)
        await without_room(world, there)
        await start_drain(world.client, home, None)
        await world.until(lambda: tasks(world, WEB) == [home], 60)
        await world.sleep(60)
        assert await least(world, there) == 1

    play(story, TWO, manager=ManagerSettings().karmada_exact())
