"""Nothing is deleted, or written away, but as it was seen: uid and resourceVersion in every request that takes away."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound, Request, Response
from leeward.api.names import work_name
from leeward.api.resource import CLUSTERS, WORKLOAD_REBALANCERS
from leeward.app.leaving import unjoin_cluster
from leeward.sim.world import CONTROLLERS, Mode, World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    in_world,
    policy,
    ready_replicas,
)
from tests.world.test_detection import answers, status

FOUR: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Pull"}
HOME = "the control plane"
WORK_MANIFESTS = Resource.of_manifests("work.karmada.io/v1alpha1", "works", "Work", True)
VERSIONED = ("works", "resourcebindings", "clusterresourcebindings")


@dataclass(frozen=True)
class Sent:
    """A request of ours that arrived somewhere."""

    where: str
    method: str
    kind: str
    path: str
    body: Mapping[str, Any]

    @property
    def is_as_seen(self) -> bool:
        if self.method == "DELETE":
            conditions = self.body.get("preconditions", {})
            return bool(conditions.get("uid")) and bool(conditions.get("resourceVersion"))
        return bool(self.body.get("metadata", {}).get("resourceVersion"))


def recorded(world: World) -> list[Sent]:
    """Requests that arrive from now on of controllers, agents and operators, at the control plane and in members."""
    sent: list[Sent] = []

    def listen(where: str) -> Any:
        def note(request: Request, *_: Any) -> None:
            agent = request.headers.get("user-agent", "")
            ours = agent == CONTROLLERS or agent.startswith("agent-") or agent == "operator"
            if ours and request.method in ("DELETE", "PATCH", "PUT"):
                sent.append(Sent(where, request.method, kind_in(request.path), request.path, body_of(request)))

        return note

    world.place.witness = listen(HOME)
    for name, member in world.members.items():
        member.place.witness = listen(name)
    return sent


def kind_in(path: str) -> str:
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    return parts[2] if parts[0] == "namespaces" and len(parts) > 2 else parts[0]


def body_of(request: Request) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], json.loads(request.body)) if request.body else {}


def placed(*members: str) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(members)}}


@pytest.mark.long
@in_world(FOUR)
async def test_every_delete_and_every_write_of_a_work_or_a_binding_names_what_was_seen_s5(world: World) -> None:
    sent = recorded(world)
    await a_long_story(world)
    deletes = [each for each in sent if each.method == "DELETE"]
    writes = [each for each in sent if each.method != "DELETE" and each.kind in VERSIONED]
    assert [each for each in deletes if not each.is_as_seen] == []
    assert [each for each in writes if not each.is_as_seen] == []
    places = Counter(each.where for each in deletes)
    kinds = Counter(each.kind for each in deletes)
    assert {HOME, "member1", "member2", "member3", "member4"} <= set(places), "the story reaches all of them"
    assert {"works", "namespaces", "clusters", "deployments", "configmaps", "workloadrebalancers"} <= set(kinds)
    assert {each.kind for each in writes} == {"works", "resourcebindings"}


async def a_long_story(world: World) -> None:
    """Applications come, move, fail over and go; a namespace goes; clusters leave, alive and dead."""
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await apply(world.client, deployment("web", 4), policy("web", by_weight(dict.fromkeys(FOUR, 1))))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"a": "1"}}
    await apply(world.client, config, policy("conf", placed("member1", "member3"), "ConfigMap", "v1"))
    await world.sleep(60)
    await world.client.patch(POLICIES, "conf", {"spec": {"placement": placed("member2")}}, "default")
    await world.sleep(30)
    for name in ("member1", "member3"):
        await world.member(name).stop()
    await world.sleep(1200)
    for name in ("member1", "member3"):
        await world.member(name).start()
    await world.sleep(300)
    rebalancer = {"metadata": {"name": "again"}, "spec": {"workloads": [WORKLOAD], "ttlSecondsAfterFinished": 5}}
    await world.client.create(WORKLOAD_REBALANCERS, rebalancer)
    await world.sleep(60)
    await world.client.delete(NAMESPACES, "shop")
    await world.client.delete(CONFIG_MAPS, "conf", "default")
    await world.client.delete(POLICIES, "conf", "default")
    await world.sleep(30)
    operator = Client(world.client._transport, "operator")  # pyright: ignore[reportPrivateUsage]
    await unjoin_cluster(operator, "member2", world.clock, force=False, wait_seconds=60)
    await world.member("member4").stop()
    await world.sleep(120)
    await unjoin_cluster(operator, "member4", world.clock, force=True, wait_seconds=60)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    for name in ("member1", "member3"):
        assert await ready_replicas(world, name, "web") == -1
    assert {cluster.name for cluster in (await world.client.list(CLUSTERS)).items} == {"member1", "member3"}


WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}


def refused_kinds(request: Request) -> Response | None:
    """Deployments cannot be listed; all else can."""
    lists = request.method == "GET" and request.path.endswith("/deployments")
    return status(503, "ServiceUnavailable") if lists else None


@in_world({"member1": "Push"})
async def test_a_policy_whose_templates_cannot_be_seen_keeps_its_finalizer_s5(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", placed("member1")))
    await world.sleep(30)
    await world.stop_controllers()
    answers(world.place, refused_kinds)
    world.start_controllers()
    await world.client.delete(POLICIES, "web", "default")
    await world.sleep(300)
    found = await world.client.get(POLICIES, "web", "default")
    assert found["metadata"]["finalizers"], "what cannot be seen may be claimed"
    world.place.audit = None
    await world.sleep(60)
    with pytest.raises(NotFound):
        await world.client.get(POLICIES, "web", "default")
    template = await world.client.get(DEPLOYMENTS, "web", "default")
    assert not any("propagationpolicy" in label for label in template["metadata"].get("labels", {}))
    assert await ready_replicas(world, "member1", "web") == 2


@in_world({"member1": "Push"})
async def test_a_policy_for_a_kind_that_is_not_there_can_be_deleted(world: World) -> None:
    await apply(world.client, policy("web", placed("member1"), "Widget", "example.com/v1"))
    await world.sleep(30)
    await world.client.delete(POLICIES, "web", "default")
    await world.sleep(60)
    with pytest.raises(NotFound):
        await world.client.get(POLICIES, "web", "default")


@in_world({"member1": "Push"})
async def test_a_page_not_found_is_no_absence_of_a_binding_s5(world: World) -> None:
    """The API of bindings is not served for a while, and the controllers start anew meanwhile."""
    await apply(world.client, deployment("web", 2), policy("web", placed("member1")))
    await world.sleep(60)
    await world.stop_controllers()
    answers(world.place, hide_bindings)
    world.start_controllers()
    await world.sleep(300)
    world.place.audit = None
    work = await work_in(world)
    assert work is not None
    assert work["metadata"].get("deletionTimestamp") is None
    assert await ready_replicas(world, "member1", "web") == 2


def hide_bindings(request: Request) -> Response | None:
    """Lists are empty, as of a new store; an object is a page that there is not."""
    if request.method != "GET" or "/resourcebindings" not in request.path:
        return None
    if request.path.endswith("/resourcebindings"):
        if request.query.get("watch"):
            return Response(410, b'{"kind":"Status","apiVersion":"v1","reason":"Expired","code":410}', {})
        return Response(200, b'{"kind":"ResourceBindingList","items":[],"metadata":{"resourceVersion":"1"}}', {})
    return Response(404, b"404 page not found\n", {"content-type": "text/plain"})


async def work_in(world: World) -> Manifest | None:
    name = work_name("Deployment", "web", "default")
    try:
        return await world.client.get(WORK_MANIFESTS, name, "karmada-es-member1")
    except NotFound:
        return None
