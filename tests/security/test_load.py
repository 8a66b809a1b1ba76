"""Nobody's load becomes somebody's death: what a tenant's objects cost is bounded, and a stall of our own harms nobody.

    has            the right to write ConfigMaps and PropagationPolicies in one namespace
    does           writes policies with tens of thousands of selectors beside thousands of templates, and touches them
    must not get   healthy members declared dead, or a failover elsewhere held up

A stall is played by pausing the controllers: deadlines pass and answers wait in their sockets, as they do while one
computation keeps the loop. Holds: S13, L4.
"""

from collections.abc import Iterable
from datetime import datetime
from unittest import mock

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client, Invalid, NotFound
from leeward.api.names import POLICY_NAME_ANNOTATION
from leeward.api.resource import WORKLOAD_REBALANCERS
from leeward.api.rules import bounds
from leeward.api.rules.bounds import MOST_SELECTORS, MOST_WORKLOADS
from leeward.api.schema import custom_resource_definitions
from leeward.sim.world import World
from leeward.webhook.reviews import judge
from leeward.webhook.store_rules import judge_policy_count
from tests.kubeserver.api_world import api_world
from tests.transports import Deaf
from tests.world.stories import CONFIG_MAPS, POLICIES, apply, play, policy
from tests.world.test_unwatched_time import FLEETS, LOOK_SECONDS, PUSH, is_left, no_execute, web_runs

SECONDS_TO_FAIL = {"Push": 30, "Pull": 40}
"""The threshold of probes, and the grace period of agents."""


async def stall(world: World, seconds: float) -> None:
    """The loop of the controllers stands still; the world goes on."""
    world.controllers_life.pause()
    await world.sleep(seconds)
    world.controllers_life.resume()


def ready_since(world: World) -> dict[str, datetime | None]:
    """Instant since which each cluster is Ready, of those that are."""
    ready = {name: world.cluster(name).ready for name in world.members}
    return {name: it.last_transition_time for name, it in ready.items() if it is not None and it.status == "True"}


@pytest.mark.parametrize("seconds", [4.6, 14.0])
def test_s13_a_probe_whose_deadline_passed_while_we_stood_still_is_no_failed_probe(seconds: float) -> None:
    """The answers are slow, and there is a stall in the middle of each probe."""

    async def story(world: World) -> None:
        before = ready_since(world)
        for name in PUSH:
            world.link("controllers", name).latency_seconds = 1.5
        for _ in range(12):
            await world.sleep_to_whole(10, offset=1)
            await stall(world, seconds)
            assert ready_since(world) == before
        await world.sleep(60)
        assert ready_since(world) == before

    play(story, PUSH)


@pytest.mark.parametrize("seconds", [13.0, 35.0])
def test_s13_a_lease_that_waited_in_our_own_queue_is_no_silence(seconds: float) -> None:
    """The agent was out of reach for a while, and is heard again while we stand still."""

    async def story(world: World) -> None:
        before = ready_since(world)
        agent = world.member("member1").agent_link
        for _ in range(3):
            agent.hang()
            await world.sleep(28.0)
            world.controllers_life.pause()
            agent.flow()
            await world.sleep(seconds)
            world.controllers_life.resume()
            await world.sleep(0.5)
            assert ready_since(world) == before
            await world.sleep(60)
        assert ready_since(world) == before

    play(story, FLEETS["Pull"])


@pytest.mark.parametrize(("mode", "seconds"), [("Push", 14.0), ("Pull", 12.0)])
def test_s13_l2_a_cluster_is_lost_after_its_time_of_listening_and_not_later(mode: str, seconds: float) -> None:
    """Time counts in which nobody answers while we run; the rest does not."""

    async def story(world: World) -> None:
        await world.member("member1").stop()
        begun, stood_still = world.seconds, 0.0
        while world.is_ready("member1") and world.seconds < 600:
            await world.sleep(6)
            if world.is_ready("member1"):
                await stall(world, seconds)
                stood_still += seconds
        listened = world.seconds - begun - stood_still
        assert SECONDS_TO_FAIL[mode] - 15 <= listened <= SECONDS_TO_FAIL[mode] + 25

    play(story, FLEETS[mode])


@pytest.mark.parametrize(("mode", "seconds"), [("Push", 12.0), ("Pull", 35.0)])
def test_s13_l2_a_toleration_runs_over_the_time_in_which_we_ran(mode: str, seconds: float) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: no_execute(world))
        begun, stood_still = world.seconds, 0.0
        while world.seconds - begun - stood_still < 240:
            await world.sleep(24)
            await stall(world, seconds)
            stood_still += seconds
            assert not is_left(world)
        await world.until(lambda: is_left(world))
        ran = world.seconds - begun - stood_still
        assert 300 - 12 <= ran <= 300 + LOOK_SECONDS, "each stall is seen but for the part before the next tick"

    play(story, FLEETS[mode])


def detected(world: World) -> float:
    """Number of templates that the detector has looked at."""
    counted = world.metrics.registry.get_sample_value(
        "controller_runtime_reconcile_total", {"controller": "resource-detector", "result": "success"}
    )
    return counted or 0.0


def config_map(name: str, **labels: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "b"}}


def naming(name: str, names: Iterable[str]) -> Manifest:
    """A policy that selects ConfigMaps by name."""
    made = policy(name, {"clusterAffinity": {"clusterNames": ["member2"]}}, "ConfigMap", "v1")
    made["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": each} for each in names]
    return made


@pytest.mark.long
def test_l4_a_policy_that_changes_concerns_only_what_it_selects() -> None:
    """Three are looked at again of 100 templates that the policies of the namespace select."""

    async def story(world: World) -> None:
        await apply(world.client, *(config_map(f"c{n}", tier=f"t{n % 50}") for n in range(100)))
        await apply(world.client, naming("wide", (f"c{n}" for n in range(100))), naming("narrow", ["c1"]))
        await world.until(lambda: world.binding("c99-configmap") is not None, 60)
        await world.sleep(60)
        before = detected(world)
        selectors = [{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"tier": "t2"}}}]
        await world.client.patch(
            POLICIES, "narrow", {"spec": {"priority": 9, "resourceSelectors": selectors}}, "default"
        )
        await world.sleep(60)
        again = detected(world) - before
        assert 3 <= again <= 12, "c1, c2 and c52, and what their own writes bring"
        await world.client.patch(POLICIES, "narrow", {"metadata": {"annotations": {"touched": "1"}}}, "default")
        await world.sleep(60)
        assert detected(world) - before - again <= 6

    play(story, PUSH)


def test_l4_templates_change_hands_with_the_policies_that_select_them() -> None:
    async def story(world: World) -> None:
        async def claim(name: str) -> str:
            found = await world.client.get(CONFIG_MAPS, name, "default")
            return found["metadata"].get("annotations", {}).get(POLICY_NAME_ANNOTATION, "")

        await apply(world.client, config_map("a"), config_map("b", app="x"), naming("one", ["a"]))
        await world.sleep(5)
        assert (await claim("a"), await claim("b")) == ("one", "")
        await world.client.patch(POLICIES, "one", {"spec": naming("one", ["b"])["spec"]}, "default")
        await world.sleep(5)
        assert (await claim("a"), await claim("b")) == ("", "one")
        await apply(world.client, naming("two", ["a", "b"]))
        await world.sleep(5)
        assert (await claim("a"), await claim("b")) == ("two", "one"), "what is claimed stays so"
        await world.client.delete(POLICIES, "one", "default")
        await world.sleep(5)
        assert await claim("b") == "two"

    play(story, PUSH)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (naming("p", (f"c{n}" for n in range(10_000)))["spec"], "spec.resourceSelectors: Too many: 10000"),
        (naming("p", (f"c{n}" + 900 * "x" for n in range(900)))["spec"], "spec: Too long"),
    ],
)
def test_a_policy_that_is_too_much_is_refused_with_the_way_out(spec: Manifest, told: str) -> None:
    async def story(world: World) -> None:
        with pytest.raises(Invalid, match=told) as refused:
            await apply(world.client, {**naming("p", ()), "spec": spec})
        assert "several policies" in str(refused.value)
        await apply(world.client, naming("p", (f"c{n}" for n in range(MOST_SELECTORS))))
        with pytest.raises(Invalid, match=told):
            await world.client.patch(POLICIES, "p", {"spec": spec}, "default")

    play(story, PUSH)


def test_the_webhook_refuses_what_is_too_much_and_lets_what_was_stored_before_become_smaller() -> None:
    def asked(new: Manifest, old: Manifest | None = None) -> Manifest:
        change = {"operation": "UPDATE" if old else "CREATE", "object": new, "oldObject": old}
        return judge({"resource": {"resource": "propagationpolicies"}, **change})

    huge, other = (naming("huge", (f"{letter}{n}" for n in range(20_000))) for letter in "cd")
    fewer = naming("huge", (f"c{n}" for n in range(19_999)))
    assert "Too many: 20000" in asked(huge)["status"]["message"]
    assert "Too many: 20000" in asked(other, huge)["status"]["message"]
    released: Manifest = {**huge, "metadata": {"name": "huge", "finalizers": []}}
    for passes in (fewer, released):
        assert "Too" not in str(asked(passes, huge).get("status", ""))


def test_a_namespace_has_a_bounded_number_of_policies() -> None:
    async def story(world: World) -> None:
        with mock.patch.object(bounds, "MOST_POLICIES", 3):
            await apply(world.client, *(naming(f"p{n}", ["a"]) for n in range(3)))
            with pytest.raises(Invalid, match="has 3 propagationpolicies already; delete some"):
                await apply(world.client, naming("p3", ["a"]))
            await world.client.delete(POLICIES, "p0", "default")
            await world.sleep(5)
            await apply(world.client, naming("p3", ["a"]))

    play(story, {"member1": "Push", "member2": "Push"})


@pytest.mark.parametrize("plural", ["propagationpolicies", "overridepolicies"])
def test_the_webhook_lets_no_namespace_have_more_policies_than_its_bound(plural: str) -> None:
    """A kube-apiserver, whose store we do not see, is asked for one object, and how many more there are."""
    kind = {"propagationpolicies": "PropagationPolicy", "overridepolicies": "OverridePolicy"}[plural]
    path = f"/apis/policy.karmada.io/v1alpha1/namespaces/default/{plural}"

    def asked(namespace: str = "default", operation: str = "CREATE") -> Manifest:
        resource = {"group": "policy.karmada.io", "resource": plural}
        return {"operation": operation, "namespace": namespace, "resource": resource, "object": {}}

    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as server:
            client = Client(server.transport)
            with mock.patch.object(bounds, "MOST_POLICIES", 3):
                for number in range(3):
                    assert await judge_policy_count(asked(), client) is None
                    made = {**naming(f"p{number}", ["a"]), "kind": kind}
                    assert (await server.create(path, made)).code == 201
                refused = await judge_policy_count(asked(), client)
                assert refused is not None
                assert (refused["allowed"], refused["status"]["code"]) == (False, 422)
                assert (
                    f"metadata.namespace: Forbidden: namespace default has 3 {plural} already; delete some"
                    in (refused["status"]["message"])
                )
                for passes in (asked("other"), asked(operation="UPDATE"), asked(operation="DELETE")):
                    assert await judge_policy_count(passes, client) is None

    run_virtual(story())


@pytest.mark.parametrize("hangs", [False, True])
def test_what_cannot_be_counted_keeps_no_policy_out(*, hangs: bool) -> None:
    asked = {
        "operation": "CREATE",
        "namespace": "default",
        "resource": {"group": "policy.karmada.io", "resource": "propagationpolicies"},
    }
    assert run_virtual(judge_policy_count(asked, Client(Deaf(hangs=hangs)))) is None


@pytest.mark.long
def test_what_was_stored_before_the_bound_works_and_can_be_made_smaller_and_deleted() -> None:
    """The webhook was not asked, or there was none: 15,000 selectors beside 30 templates."""

    async def story(world: World) -> None:
        await apply(world.client, *(config_map(f"c{n}") for n in range(30)))
        with mock.patch.object(bounds, "MOST_SELECTORS", 30_000), mock.patch.object(bounds, "MOST_POLICY_BYTES", 10**8):
            await apply(world.client, naming("huge", (f"c{n}" for n in range(15_000))))
        await world.until(lambda: world.binding("c29-configmap") is not None, 60)
        await world.sleep(10)
        before = detected(world)
        await world.client.patch(POLICIES, "huge", {"spec": {"priority": 1}}, "default")
        await world.sleep(10)
        assert detected(world) - before <= 70, "each template, and what its own write brings"
        fewer = naming("huge", (f"c{n}" for n in range(14_999)))["spec"]
        await world.client.patch(POLICIES, "huge", {"spec": fewer}, "default")
        await world.client.delete(POLICIES, "huge", "default")
        await world.sleep(30)
        with pytest.raises(NotFound):
            await world.client.get(POLICIES, "huge", "default")

    play(story, {"member1": "Push", "member2": "Push"})


def test_l4_a_rebalancer_of_too_many_workloads_is_refused_with_the_way_out() -> None:
    """Status of too many workloads names each again, and could not be written: it was tried without end."""

    def rebalancer(name: str, count: int, size: int = 1) -> Manifest:
        workloads = [
            {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": f"c{number}".ljust(size, "x")}
            for number in range(count)
        ]
        return {"metadata": {"name": name}, "spec": {"workloads": workloads}}

    async def story(world: World) -> None:
        for count, size, said in ((MOST_WORKLOADS + 1, 1, "Too many: 2001: .*2000"), (1_000, 600, "Too long: .*bytes")):
            with pytest.raises(Invalid, match=f"{said}.*make several of it"):
                await world.client.create(WORKLOAD_REBALANCERS, rebalancer("huge", count, size))
        await world.client.create(WORKLOAD_REBALANCERS, rebalancer("large", MOST_WORKLOADS))
        await world.sleep(30)
        large = await world.client.get(WORKLOAD_REBALANCERS, "large")
        assert len(large.status.observed_workloads) == MOST_WORKLOADS

    play(story, {"member1": "Push"})
