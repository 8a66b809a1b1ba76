"""Worlds for attacks: who may write what, a control plane whose webhook is not asked, and counting what is written."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from kubeapi.core import NAMESPACES
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Request
from kubecluster.network import LinkedTransport
from kubeserver.admission import Admission
from kubeserver.handler import User
from kubeserver.store import Store
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World
from tests.kubeserver.api_world import DEFINITIONS, Answer, ApiWorld
from tests.world.test_detection import answers

RBAC = "rbac.authorization.k8s.io"
ROLES = Resource.of_manifests(f"{RBAC}/v1", "roles", "Role", True)
ROLE_BINDINGS = Resource.of_manifests(f"{RBAC}/v1", "rolebindings", "RoleBinding", True)
WRITES = ("POST", "PUT", "PATCH", "DELETE")


class UnaskedWorld(World):
    """A control plane that stores what it is given, as a kube-apiserver whose webhook is not asked."""

    def admission(self, store: Store) -> Sequence[Admission]:
        return ()


def play_in(
    kind: type[World], story: Callable[[World], Awaitable[None]], members: Mapping[str, Mode], seed: int = 0
) -> None:
    """Runs a story in a fresh world in which every member is Ready."""

    async def run() -> None:
        async with kind(members, Timing.karmada(), seed) as world:
            await world.until(lambda: all(world.is_ready(name) for name in members), 60)
            await story(world)

    run_virtual(run())


async def namespaces(world: World, *names: str) -> None:
    for name in names:
        await world.client.create(NAMESPACES, {"metadata": {"name": name}})


async def user_with(world: World, name: str, namespace: str, group: str, *resources: str) -> Client:
    """A user who may do everything to these resources in one namespace, and nothing else."""
    role: Manifest = {
        "metadata": {"name": name},
        "rules": [{"apiGroups": [group], "resources": list(resources), "verbs": ["*"]}],
    }
    subject = {"apiGroup": RBAC, "kind": "User", "name": name}
    binding: Manifest = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [subject],
    }
    await world.client.create(ROLES, role, namespace)
    await world.client.create(ROLE_BINDINGS, binding, namespace)
    return Client(LinkedTransport(world.place, User(name, ("system:authenticated",))))


def written(world: World, part: str) -> list[str]:
    """Fills with the writes to the control plane from now on whose path contains `part`."""
    seen: list[str] = []

    def note(request: Request) -> None:
        if request.method in WRITES and part in request.path:
            seen.append(f"{request.method} {request.path}")

    answers(world.place, note)
    return seen


async def define(world: ApiWorld, properties: Manifest, *rules: str, **fields: Any) -> Answer:
    """The kind Widget, with these fields of its `spec`."""
    spec: Manifest = {"type": "object", "properties": properties}
    if rules:
        spec["x-kubernetes-validations"] = [{"rule": rule} for rule in rules]
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    definition: Manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions, **fields},
    }
    answer = await world.create(DEFINITIONS, definition)
    await asyncio.sleep(1)
    return answer
