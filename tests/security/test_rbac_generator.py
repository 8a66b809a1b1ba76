"""Certificate of Karmada's `rbac-generator`: whoever has it writes the roles of one new agent, and nothing else.

The attacker has got a person to approve it, as `karmadactl register` asks for, or has found such a certificate, which
is good for a year. They use it to give themselves other rights, to reach a cluster that has joined, to make Clusters
and Secrets, and to take away what others have.

They must not get: any right that an agent of Karmada's has not, for anybody but the agent of a cluster that has not
joined; any object but these roles. On the embedded API server; on a real one RBAC alone decides, as with Karmada.
"""

import base64
from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest

from kubeapi.certificate_requests import Subject, make_request
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import AlreadyExists, Client, Forbidden
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import AGENT_GROUP
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.migration.joining_agent import LEASES, SECRETS
from tests.migration.karmadactl import (
    CLUSTERS,
    NAMESPACES,
    RBAC_KINDS,
    REQUESTS,
    WORKS,
    roles_of_registered,
    write_roles,
)

GENERATOR = User("system:karmada:agent:rbac-generator", (AGENT_GROUP, "system:authenticated"))
SUBJECT = {"kind": "User", "name": "system:karmada:agent:fresh", "apiGroup": "rbac.authorization.k8s.io"}


def play(story: Callable[[World, Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with World({"member1": "Push", "member2": "Pull"}, Timing.karmada()) as world:
            await world.until(lambda: world.is_ready("member1") and world.is_ready("member2"), 60)
            await story(world, Client(LinkedTransport(world.place, GENERATOR)))

    run_virtual(run())


async def write(client: Client, manifest: Manifest) -> Any:
    return await client.create(RBAC_KINDS[manifest["kind"]], manifest, manifest["metadata"].get("namespace", ""))


async def write_namespace(client: Client, name: str) -> None:
    with suppress(AlreadyExists):
        await client.create(NAMESPACES, {"metadata": {"name": name}})


def roles(cluster: str) -> dict[str, Manifest]:
    """Roles by kind and the end of their name."""
    found = deepcopy(roles_of_registered(cluster))
    return {f"{each['kind']}/{each['metadata']['name'].rpartition(':')[2]}": each for each in found}


def test_it_writes_the_roles_of_an_agent_that_is_to_join_and_takes_them_back() -> None:
    async def story(world: World, generator: Client) -> None:
        await write_roles(generator, "fresh")
        agent = Client(LinkedTransport(world.place, User("system:karmada:agent:fresh", GENERATOR.groups)))
        assert (await agent.list(WORKS, "karmada-es-fresh")).items == ()
        for manifest in roles_of_registered("fresh"):
            metadata = manifest["metadata"]
            await generator.delete(RBAC_KINDS[manifest["kind"]], metadata["name"], metadata.get("namespace", ""))
        with pytest.raises(Forbidden):
            await agent.list(WORKS, "karmada-es-fresh")

    play(story)


def beyond() -> list[tuple[str, Manifest]]:
    """Roles and bindings that are nearly those of `fresh`, with what is wrong with each."""
    found: list[tuple[str, Manifest]] = []

    def nearly(what: str, key: str, **changes: Any) -> None:
        found.append((what, {**roles("fresh")[key], **changes}))

    def ruled(what: str, key: str, *rules: Manifest) -> None:
        nearly(what, key, rules=[*roles("fresh")[key]["rules"], *rules])

    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    ruled("everything", "ClusterRole/agent", everything)
    ruled("everything in the execution space", "Role/agent-work", everything)
    ruled("any path", "ClusterRole/agent", {"nonResourceURLs": ["*"], "verbs": ["get"]})
    ruled("all Secrets", "Role/agent-secret", {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]})
    other = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["member1"], "verbs": ["get"]}
    ruled("another's Secret", "Role/agent-secret", other)
    status = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/status"], "verbs": ["update"]}
    ruled("the status of all", "ClusterRole/agent", status)
    ruled("clusters through the proxy", "ClusterRole/agent", {**status, "resources": ["clusters/proxy"]})
    nearly("an aggregation", "ClusterRole/agent", aggregationRule={"clusterRoleSelectors": [{}]})
    nearly("itself", "ClusterRoleBinding/agent", subjects=[{**SUBJECT, "name": GENERATOR.name}])
    nearly("somebody else", "ClusterRoleBinding/agent", subjects=[SUBJECT, {**SUBJECT, "name": "bob"}])
    nearly("a group", "RoleBinding/agent-secret", subjects=[{**SUBJECT, "kind": "Group", "name": AGENT_GROUP}])
    admin = {"apiGroup": SUBJECT["apiGroup"], "kind": "ClusterRole", "name": "cluster-admin"}
    nearly("the administrator", "ClusterRoleBinding/agent", roleRef=admin)
    nearly("the administrator in a namespace", "RoleBinding/agent-work", roleRef=admin)
    name = {"name": "system:karmada:fresh:agent-work", "namespace": "kube-system"}
    nearly("another namespace", "Role/agent-work", metadata=name)
    nearly("another name", "ClusterRole/agent", metadata={"name": "bob"})
    nearly("no name of a cluster", "ClusterRole/agent", metadata={"name": "system:karmada:../x:agent"})
    return found


def test_it_gives_nobody_more() -> None:
    async def story(world: World, generator: Client) -> None:
        for namespace in ("karmada-es-fresh", "karmada-cluster"):
            await write_namespace(world.client, namespace)
        said: dict[str, str] = {}
        for what, manifest in beyond():
            try:
                await write(generator, manifest)
            except Forbidden as error:
                said[what] = str(error)
        assert {what for what, words in said.items() if "rbac-generator may" in words} == {what for what, _ in beyond()}

    play(story)


def test_it_reaches_no_cluster_that_has_joined() -> None:
    async def story(world: World, generator: Client) -> None:
        for cluster in ("member1", "member2", "member1-impersonator"):
            await write_namespace(world.client, f"karmada-es-{cluster}")
            for manifest in roles_of_registered(cluster):
                with pytest.raises(Forbidden, match="may only write for a cluster that has not joined, and member"):
                    await write(generator, manifest)
        role = {**roles("member2")["ClusterRole/agent"]}
        await write(world.client, role)
        with pytest.raises(Forbidden, match="and member2 has"):
            await generator.delete(RBAC_KINDS["ClusterRole"], role["metadata"]["name"])

    play(story)


def test_it_makes_and_takes_away_nothing_else() -> None:
    async def story(world: World, generator: Client) -> None:
        cluster = {"metadata": {"name": "fresh"}, "spec": {"syncMode": "Pull", "id": "x"}}
        asked = base64.b64encode(make_request(Subject(GENERATOR.name, (AGENT_GROUP,))).request).decode()
        request = {"signerName": "kubernetes.io/kube-apiserver-client", "request": asked, "usages": ["client auth"]}
        await world.client.create(REQUESTS, {"metadata": {"name": "of-somebody-else"}, "spec": request})
        for attempt in (
            generator.create(CLUSTERS, cluster),
            generator.create(CLUSTERS, {**cluster, "metadata": {"name": "rbac-generator"}}),
            generator.delete(CLUSTERS, "member1"),
            generator.list(SECRETS, "karmada-cluster"),
            generator.get(SECRETS, "member1", "karmada-cluster"),
            generator.create(SECRETS, {"metadata": {"name": "rbac-generator"}}, "karmada-cluster"),
            generator.create(SECRETS, {"metadata": {"name": "bootstrap-token-abcdef"}}, "kube-system"),
            generator.create(LEASES, {"metadata": {"name": "member3"}}, "karmada-cluster"),
            generator.list(WORKS),
            generator.create(NAMESPACES, {"metadata": {"name": "mine"}}),
            generator.create(NAMESPACES, {"metadata": {"name": "karmada-es-rbac-generator"}}),
            generator.delete(NAMESPACES, "karmada-es-member1"),
            generator.delete(REQUESTS, "of-somebody-else"),
            generator.delete(RBAC_KINDS["ClusterRole"], AGENT_GROUP),
            generator.get(RBAC_KINDS["ClusterRole"], "cluster-admin"),
            generator.patch(RBAC_KINDS["ClusterRole"], AGENT_GROUP, {"rules": []}),
            generator.create(REQUESTS, {"metadata": {"name": "mine"}, "spec": request}),
        ):
            with pytest.raises(Forbidden):
                await attempt

    play(story)
