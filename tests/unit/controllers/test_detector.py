"""The detector: what it looks at again, and what of its own writes and of others' it need not."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import fields, replace

from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import Manifest
from leeward.api.resource import (
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    RESOURCE_INTERPRETER_CUSTOMIZATIONS,
)
from leeward.api.work import ResourceBinding, ResourceBindingSpec
from leeward.controllers.detector import Detector, DetectorSettings
from leeward.controllers.detector.detected_bindings import concerns_its_template
from leeward.controllers.policies import PolicyController
from leeward.core.propagation.claiming import OWNED_FIELDS, binding_patch
from leeward.runtime.templates import Templates
from tests.unit.controllers.desk import DEPLOYMENTS, Desk, play

SETTLED = 5.0
BINDING, PATH = "web-deployment", "/resourcebindings"


class Detecting:
    """A detector at work for a Deployment `web`, and how often it has looked at something."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def start(self) -> None:
        templates = Templates(self.desk.plane.server)
        for each in (PolicyController(self.desk.plane, templates), Detector(self.desk.plane, templates, SETTINGS)):
            each.start()
        selector = {"apiVersion": "apps/v1", "kind": "Deployment"}
        spec = {"resourceSelectors": [selector], "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}}
        await self.desk.client.create(PROPAGATION_POLICIES, {"metadata": {"name": "all"}, "spec": spec}, "default")
        await self.rest()

    async def rest(self) -> None:
        await asyncio.sleep(SETTLED)

    async def make(self) -> None:
        await self.desk.client.create(DEPLOYMENTS, deployment(), "default")
        await self.rest()

    async def binding(self) -> ResourceBinding:
        return await self.desk.client.get(RESOURCE_BINDINGS, BINDING, "default")

    async def change_binding(self, patch: Manifest) -> None:
        await self.desk.client.patch(RESOURCE_BINDINGS, BINDING, patch, "default")

    @property
    def looks(self) -> float:
        labels = {"controller": "resource-detector", "result": "success"}
        name = "controller_runtime_reconcile_total"
        return self.desk.plane.metrics.registry.get_sample_value(name, labels) or 0.0


SETTINGS = DetectorSettings()


def deployment() -> Manifest:
    container = {"name": "main", "image": "nginx"}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    return {"metadata": {"name": "web"}, "spec": spec}


def tell(story: Callable[[Detecting], Awaitable[None]]) -> None:
    async def begun(desk: Desk) -> None:
        detecting = Detecting(desk)
        await detecting.start()
        await story(detecting)

    play(begun)


def test_a_template_is_looked_at_once_until_it_is_propagated_and_not_when_its_status_changes() -> None:
    async def story(at: Detecting) -> None:
        await at.make()
        assert (await at.binding()).spec.replicas == 2
        assert at.looks == 1
        status = {"status": {"replicas": 2, "readyReplicas": 2, "observedGeneration": 1}}
        await at.desk.client.patch(DEPLOYMENTS, "web", status, "default", subresource="status")
        await at.rest()
        assert at.looks == 1
        await at.desk.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await at.rest()
        assert (await at.binding()).spec.replicas == 3
        assert at.looks == 2, "its own write of the binding is looked at no more"
        await at.desk.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"team": "a"}}}, "default")
        await at.rest()
        assert at.looks == 3

    tell(story)


def test_a_template_whose_replicas_a_script_reads_is_looked_at_when_its_status_changes() -> None:
    async def story(at: Detecting) -> None:
        script = (
            "function GetReplicas(obj) local n = 1; if obj.status then n = obj.status.wanted or 1 end; return n end"
        )
        rules = {"replicaResource": {"luaScript": script}}
        spec = {"target": {"apiVersion": "apps/v1", "kind": "Deployment"}, "customizations": rules}
        await at.desk.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, {"metadata": {"name": "c"}, "spec": spec})
        await at.rest()
        await at.make()
        looks = at.looks
        status = {"status": {"observedGeneration": 1}}
        await at.desk.client.patch(DEPLOYMENTS, "web", status, "default", subresource="status")
        await at.rest()
        assert at.looks > looks

    tell(story)


@pytest.mark.parametrize("when", ["before the answer", "later"])
def test_what_somebody_writes_into_a_binding_of_ours_is_mended(when: str) -> None:
    async def story(at: Detecting) -> None:
        async def spoil() -> None:
            await at.change_binding({"spec": {"replicas": 7}})

        if when == "before the answer":
            at.desk.wire.after["POST"] = spoil
        await at.make()
        if when == "later":
            await spoil()
        await at.rest()
        assert (await at.binding()).spec.replicas == 2

    tell(story)


def test_a_binding_that_is_deleted_is_made_again() -> None:
    async def story(at: Detecting) -> None:
        await at.make()
        await at.change_binding({"metadata": {"finalizers": None}})
        await at.desk.client.delete(RESOURCE_BINDINGS, BINDING, "default")
        await at.rest()
        assert (await at.binding()).spec.replicas == 2

    tell(story)


def test_what_the_scheduler_writes_into_a_binding_concerns_no_template() -> None:
    async def story(at: Detecting) -> None:
        await at.make()
        looks = at.looks
        await at.change_binding({"spec": {"clusters": [{"name": "member1", "replicas": 2}]}})
        await at.rest()
        assert at.looks == looks

    tell(story)


OF_OTHERS: dict[str, Any] = {
    "clusters": [{"name": "m1", "replicas": 2}],
    "gracefulEvictionTasks": [{"fromCluster": "m2", "reason": "TaintUntolerated", "producer": "P"}],
    "requiredBy": [{"namespace": "default", "name": "other"}],
    "rescheduleTriggeredAt": "2026-01-01T00:00:00Z",
}


def test_the_long_way_finds_nothing_to_write_where_a_change_is_said_to_concern_no_template() -> None:
    """Every field of a binding is the detector's, or can be written by others without a difference to it."""
    names = {field.encode_name for field in fields(ResourceBindingSpec)}
    assert names == OWNED_FIELDS | OF_OTHERS.keys() | {"suspension"}
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
    wire: Manifest = {"metadata": {"name": BINDING, "generation": 1}, "spec": {"resource": resource, "replicas": 2}}
    desired: Manifest = {"metadata": {}, "spec": wire["spec"]}
    before = from_wire(wire, ResourceBinding)
    later = replace(before.metadata, generation=2)
    for name, value in OF_OTHERS.items():
        after = from_wire({**wire, "spec": {**wire["spec"], name: value}}, ResourceBinding)
        assert after.spec != before.spec
        assert not concerns_its_template(before, replace(after, metadata=later)), name
        assert binding_patch(to_wire(after), desired) == binding_patch(to_wire(before), desired), name
    for change in ({"replicas": 3}, {"schedulerName": "other"}, {"suspension": {"dispatching": True}}):
        after = from_wire({**wire, "spec": {**wire["spec"], **change}}, ResourceBinding)
        assert concerns_its_template(before, replace(after, metadata=later)), change
        assert binding_patch(to_wire(after), desired) != binding_patch(to_wire(before), desired), change
    assert concerns_its_template(before, replace(before, metadata=replace(later, uid="another")))
