"""Admission of rendered objects: overrides bring nothing into members that the control plane refuses (decision 74).

has            the right to write OverridePolicies in one namespace, where a rule of the control plane holds
does           lets a template pass that rule, and has an override change it into what the rule forbids
must not get   it into a member, where --admit-rendered-objects is set; nor anybody's application stopped by it
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.transport import Response
from kubeclient import Request
from leeward.api.names import execution_space
from leeward.api.resource import WORKS
from leeward.app.flags.settings import settings_of
from leeward.sim.world import World
from tests.kubeserver.test_policies import binding
from tests.kubeserver.test_policies import policy as rules_of
from tests.world.stories import CONFIG_MAPS, apply, play, policy
from tests.world.test_detection import answers
from tests.world.test_overrides import (
    BOTH,
    OVERRIDES,
    TWO,
    WEB,
    failure,
    images,
    only,
    overriding,
    replacing,
    tagged,
    web_runs,
)
from tests.world.test_overrides import works as works_of

GROUP = "admissionregistration.k8s.io/v1"
RULES = Resource.of_manifests(GROUP, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False)
BINDINGS = Resource.of_manifests(GROUP, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", False)
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
NO_LATEST: Manifest = {
    "expression": "object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))",
    "message": "images have tags of a release",
}
SWITCHED = settings_of("up", {"admit-rendered-objects": "true"}).manager


async def no_latest(world: World) -> None:
    await world.client.create(RULES, rules_of(NO_LATEST, resource="deployments", group="apps"))
    await world.client.create(BINDINGS, binding())


async def override(world: World, tag: str) -> None:
    forbidden = overriding("ours", {"name": "web"}, only("member2"), imageOverrider=tagged(tag))
    await world.client.create(OVERRIDES, forbidden, "default")
    await world.sleep(20)


def asked(world: World) -> list[str]:
    """Fills with the paths of questions about rendered objects."""
    seen: list[str] = []

    def note(request: Request) -> None:
        if request.query.get("dryRun"):
            seen.append(f"{request.method} {request.path}")

    answers(world.place, note)
    return seen


@pytest.mark.parametrize("switched", [False, True])
def test_an_override_brings_what_admission_forbids_only_past_a_switch_that_is_off(switched: bool) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await no_latest(world)
        before = await works_of(world)
        await override(world, "latest")
        assert await images(world) == {"member1": "nginx", "member2": "nginx" if switched else "nginx:latest"}
        assert ("images have tags of a release" in failure(world)) == switched
        if switched:
            assert (await works_of(world))["member2"].metadata.generation == before["member2"].metadata.generation

    play(story, TWO, manager=replace(SWITCHED, admit_rendered=switched))


async def another_tag(world: World) -> None:
    patch = overriding("ours", {"name": "web"}, only("member2"), imageOverrider=tagged("1.27"))
    await world.client.patch(OVERRIDES, "ours", patch, "default")


async def no_rule(world: World) -> None:
    await world.client.delete(BINDINGS, "binding")


@pytest.mark.parametrize(("mend", "image"), [(another_tag, "nginx:1.27"), (no_rule, "nginx:latest")])
def test_what_is_let_in_then_is_written(mend: Callable[[World], Awaitable[None]], image: str) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await no_latest(world)
        await override(world, "latest")
        await mend(world)
        await world.sleep(60)
        assert (await images(world), failure(world)) == ({"member1": "nginx", "member2": image}, "")

    play(story, TWO, manager=SWITCHED)


def test_what_was_let_in_is_asked_about_once() -> None:
    """Neither reports of members nor a rule that comes later ask again, as of stored objects."""

    async def story(world: World) -> None:
        await web_runs(world)
        seen = asked(world)
        await override(world, "1.27")
        assert seen == ["POST /apis/apps/v1/namespaces/default/deployments"]
        await no_latest(world)
        await world.client.patch(WORKS, WEB, {"metadata": {"labels": {"a": "b"}}}, execution_space("member2"))
        await world.sleep(300)
        assert len(seen) == 1
        assert await images(world) == {"member1": "nginx", "member2": "nginx:1.27"}

    play(story, TWO, manager=SWITCHED)


def test_templates_without_overrides_are_not_asked_about() -> None:
    async def story(world: World) -> None:
        seen = asked(world)
        await web_runs(world)
        assert seen == []

    play(story, TWO, manager=SWITCHED)


def test_a_service_keeps_its_node_ports() -> None:
    """The control plane has given them to the template, and would give them to nobody else."""

    async def story(world: World) -> None:
        port = {"port": 80, "nodePort": 30080}
        spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": [port]}
        await world.client.create(SERVICES, {"metadata": {"name": "web"}, "spec": spec}, "default")
        labels = overriding("ours", None, labelsOverrider=[{"operator": "add", "value": {"a": "b"}}])
        await world.client.create(OVERRIDES, labels, "default")
        await apply(world.client, policy("web", BOTH, "Service", "v1"))
        await world.sleep(60)
        for name in TWO:
            made = await world.member(name).client.get(SERVICES, "web", "default")
            assert (made["metadata"]["labels"]["a"], made["spec"]["ports"][0]["nodePort"]) == ("b", 30080)

    play(story, TWO, manager=SWITCHED)


def test_a_rule_that_cannot_be_asked_leaves_things_as_they_are() -> None:
    """A rule that fails to evaluate denies, as Kubernetes' `failurePolicy: Fail` says."""

    async def story(world: World) -> None:
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "web"}, "data": {"a": "1"}}, "default")
        await apply(world.client, policy("web", BOTH, "ConfigMap", "v1"))
        await world.sleep(60)
        broken = rules_of({"expression": "object.data.b == '1'"})
        await world.client.create(RULES, broken)
        await world.client.create(BINDINGS, binding())
        await world.client.create(OVERRIDES, overriding("ours", None, plaintext=replacing("/data/a", "2")), "default")
        await world.sleep(60)
        assert "--admit-rendered-objects, refuses the rendered object" in failure(world, "web-configmap")
        for name in TWO:
            assert (await world.member(name).client.get(CONFIG_MAPS, "web", "default"))["data"] == {"a": "1"}

    play(story, TWO, manager=SWITCHED)


def test_a_full_quota_refuses_no_override() -> None:
    """The template is counted already; its words are those of kube-apiserver, which asks quotas after all others."""
    message = 'deployments.apps "web" is forbidden: exceeded quota: few, requested: count/deployments.apps=1, used: '
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "reason": "Forbidden", "code": 403, "message": message})

    async def story(world: World) -> None:
        await web_runs(world)
        full = Response(403, body.encode(), {"content-type": "application/json"})
        answers(world.place, lambda request: full if request.query.get("dryRun") else None)
        await override(world, "1.27")
        assert await images(world) == {"member1": "nginx", "member2": "nginx:1.27"}

    play(story, TWO, manager=SWITCHED)
