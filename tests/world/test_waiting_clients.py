"""Clients that wait for templates, `kubectl` and `helm --wait`: which of them end is what the documentation says."""

from pathlib import Path
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.sim.world import World
from tests.waiting_clients import CLIENTS, ends
from tests.world.stories import apply, by_weight, deployment, play

PAGE = Path(__file__).parents[2] / "docs/waiting.md"
BOTH = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
ONE: Manifest = {"clusterAffinity": {"clusterNames": ["member1"]}}
DIVIDED = by_weight({"member1": 1, "member2": 1})
CONTAINERS = [{"name": "app", "image": "nginx"}]
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}


def _kind(api_version: str, kind: str, name: str, **spec: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _stateful_set(name: str) -> Manifest:
    return {**deployment(name, 2, serviceName=name), "kind": "StatefulSet"}


def _daemon_set(name: str) -> Manifest:
    spec = {key: value for key, value in deployment(name, 1)["spec"].items() if key != "replicas"}
    return {**_kind("apps/v1", "DaemonSet", name), "spec": spec}


def _job(name: str) -> Manifest:
    return _kind("batch/v1", "Job", name, completions=2, parallelism=2, **JOB)


def _volume_claim(name: str) -> Manifest:
    resources = {"requests": {"storage": "1Gi"}}
    return _kind("v1", "PersistentVolumeClaim", name, accessModes=["ReadWriteOnce"], resources=resources)


TEMPLATES: dict[str, tuple[Manifest, Manifest]] = {
    "Deployment, divided": (deployment("a", 4), DIVIDED),
    "Deployment, in one cluster": (deployment("b", 2), ONE),
    "Deployment, duplicated": (deployment("c", 2), BOTH),
    "StatefulSet, divided": (_stateful_set("d"), DIVIDED),
    "StatefulSet, duplicated": (_stateful_set("e"), BOTH),
    "DaemonSet": (_daemon_set("f"), BOTH),
    "Job, divided": (_job("g"), DIVIDED),
    "Job, duplicated": (_job("h"), BOTH),
    "Service of type LoadBalancer": (_kind("v1", "Service", "i", type="LoadBalancer", ports=[{"port": 80}]), BOTH),
    "PersistentVolumeClaim": (_volume_claim("j"), BOTH),
    "Pod": (_kind("v1", "Pod", "k", containers=CONTAINERS), BOTH),
}
"""Templates with their placement, by what the documentation calls them."""


def documented() -> dict[str, dict[str, bool]]:
    """Rows of the table: which client ends, by template."""
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    head, *body = [[cell.strip() for cell in row] for row in rows]
    words = {"ends": True, "waits": False}
    return {row[0]: {client: words[cell] for client, cell in zip(head[1:], row[1:], strict=True)} for row in body}


def _policy(template: Manifest, placement: Manifest) -> Manifest:
    name = template["metadata"]["name"]
    selector = {"apiVersion": template["apiVersion"], "kind": template["kind"], "name": name}
    spec = {"resourceSelectors": [selector], "placement": placement}
    return {**_kind("policy.karmada.io/v1alpha1", "PropagationPolicy", name), "spec": spec}


def _plural(template: Manifest) -> Resource[Manifest]:
    return Resource.of_manifests(template["apiVersion"], template["kind"].lower() + "s", template["kind"], True)


@pytest.mark.long
def test_clients_that_wait_end_where_the_documentation_says_so() -> None:
    found = dict[str, dict[str, bool]]()

    async def story(world: World) -> None:
        for template, placement in TEMPLATES.values():
            await world.client.create(_plural(template), template, "default")
            await apply(world.client, _policy(template, placement))
        await world.sleep(120)
        for words, (template, _) in TEMPLATES.items():
            there = await world.client.get(_plural(template), template["metadata"]["name"], "default")
            found[words] = {client: ends(client, {**there, "kind": template["kind"]}) for client in CLIENTS}

    play(story, {"member1": "Push", "member2": "Push"})
    assert found == documented()


def test_nobody_ends_before_the_members_have_reported() -> None:
    async def story(world: World) -> None:
        for member in ("member1", "member2"):
            await world.member(member).stop()
        kinds = ("Deployment, divided", "StatefulSet, divided", "DaemonSet", "Job, divided")
        for template, placement in (TEMPLATES[words] for words in kinds):
            await world.client.create(_plural(template), template, "default")
            await apply(world.client, _policy(template, placement))
        await world.sleep(60)
        for words in kinds:
            template, _ = TEMPLATES[words]
            there = await world.client.get(_plural(template), template["metadata"]["name"], "default")
            assert not any(ends(client, {**there, "kind": template["kind"]}) for client in CLIENTS), words

    play(story, {"member1": "Push", "member2": "Push"})
