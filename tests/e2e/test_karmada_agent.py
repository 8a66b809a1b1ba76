"""Agents with Karmada's calls and with its rights, on a real kube-apiserver: its own agent with an identity that we
gave, and ours with the roles that `karmadactl register` writes."""

import asyncio
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from kubeapi.codec import render_yaml
from kubeclient import Client, Forbidden
from kubeclient.connection import Connection, transport_of
from kubeclient.kubeconfig import load
from leeward.app.registering import write_kubeconfig
from tests.e2e.applications import has_moved_to, is_cleaned_up, place_divided, remove
from tests.e2e.fleet import Fleet
from tests.e2e.test_pull import register
from tests.kubectl import CONTROL_PLANE
from tests.migration import karmadactl
from tests.migration.joining_agent import CLUSTERS, LEASES, SECRETS, JoiningAgent

TOKEN = "fedcba.0123456789abcdef"
AGENTS = "system:karmada:agents"


def administrator(fleet: Fleet) -> Connection:
    return load(fleet.kubeconfig, CONTROL_PLANE)


def test_karmadas_agent_joins_with_an_identity_that_register_gives(fleet: Fleet) -> None:
    identity = load(register(fleet, "stranger"))

    async def main() -> None:
        client = Client(transport_of(identity))
        try:
            agent = JoiningAgent(client, "stranger", lambda: datetime.now(UTC))
            cluster = await agent.join("an-id-of-its-own", "https://stranger.example")
            again = await agent.join("an-id-of-its-own", "https://stranger.example")
            assert again["metadata"]["uid"] == cluster["metadata"]["uid"], "it may start again"
            async with asyncio.timeout(60):
                await works_as_soon_as_it_may(agent, cluster["metadata"]["uid"])
            other = {"metadata": {"name": "member1"}, "data": {}}
            lease = {"metadata": {"name": "karmada-descheduler"}}
            for attempt in (
                client.get(SECRETS, "member1", "karmada-cluster"),
                client.create(SECRETS, {**other, "metadata": {"name": "elsewhere"}}, "karmada-cluster"),
                client.create(SECRETS, other, "kube-system"),
                client.get(LEASES, "karmada-agent-member1", "karmada-system"),
                client.create(LEASES, lease, "karmada-system"),
                client.create(LEASES, lease, "default"),
                client.create(LEASES, lease, "kube-system"),
            ):
                with pytest.raises(Forbidden):
                    await attempt
        finally:
            await client.close()

    asyncio.run(main())
    owners = fleet.get("secret", "stranger-impersonator", "-n", "karmada-cluster")["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["stranger"]
    assert "has left" in fleet.leeward("unregister", "stranger", "--wait", "30s")


def test_no_agent_reads_the_credentials_of_a_push_member_of_its_name(fleet: Fleet) -> None:
    """The agent was approved; then somebody writes the Secrets as `karmadactl join` does, and leaves them behind."""
    identity = load(register(fleet, "former"))
    fleet.kubectl("create", "secret", "generic", "former", "-n", "karmada-cluster", "--from-literal=token=former-token")

    async def main() -> None:
        client = Client(transport_of(identity))
        try:
            for _ in range(60):
                if not await may_read(client, "former"):
                    break
                await asyncio.sleep(1)
            cluster = {"metadata": {"name": "former"}, "spec": {"syncMode": "Pull", "id": "an-id"}}
            with pytest.raises(Forbidden, match="delete secret former"):
                await client.create(CLUSTERS, cluster)
            assert not await may_read(client, "former")
            assert fleet.kubectl("get", "role,rolebinding", "-n", "karmada-cluster").count("agent:former:joining") == 0
        finally:
            await client.close()

    asyncio.run(main())
    fleet.kubectl("delete", "secret", "former", "-n", "karmada-cluster")


async def may_read(client: Client, secret: str) -> bool:
    try:
        await client.get(SECRETS, secret, "karmada-cluster")
    except Forbidden:
        return False
    return True


async def works_as_soon_as_it_may(agent: JoiningAgent, uid: str) -> None:
    """The rights that it has only after it has joined come a moment later; the real one tries again, too."""
    while True:
        try:
            await agent.lead()
            await agent.lead()
            await agent.report({"kubernetesVersion": "v1.36.0"})
            await agent.renew(uid)
            await agent.renew(uid)
            await agent.follow()
        except Forbidden:
            await asyncio.sleep(1)
        else:
            return


@pytest.fixture
def registered(fleet: Fleet) -> Generator[Path]:
    """The identity of member3, by the requests of `karmadactl register`. Agents have no other rights meanwhile."""
    member = str(fleet.members["member3"].kubeconfig)
    assert "has left" in fleet.leeward("unjoin", "member3", "--cluster-kubeconfig", member)
    ca_hash = next(word for word in fleet.leeward("token", "create").split() if word.startswith("sha256:"))
    path = fleet.directory / "member3-karmadactl" / "kubeconfig"
    path.parent.mkdir(exist_ok=True)

    async def approve(name: str) -> None:
        fleet.kubectl("certificate", "approve", name)

    async def main() -> Connection:
        admin = Client(transport_of(administrator(fleet)))
        try:
            await karmadactl.create_token(admin, TOKEN)
            return await karmadactl.register(administrator(fleet).server, TOKEN, ca_hash, "member3", approve)
        finally:
            await admin.close()

    write_kubeconfig(path, replace(asyncio.run(main()), token=""), "member3")
    binding = yaml.safe_load(fleet.kubectl("get", "clusterrolebinding", AGENTS, "-o", "yaml"))
    fleet.kubectl("delete", "clusterrolebinding", AGENTS)
    try:
        yield path
    finally:
        kept = {key: binding[key] for key in ("apiVersion", "kind", "roleRef", "subjects")}
        fleet.kubectl("create", "-f", "-", stdin=render_yaml({**kept, "metadata": {"name": AGENTS}}))
        fleet.join("member3")
        fleet.eventually(lambda: fleet.is_back("member3"), "member3 is a Push member again")


def test_an_agent_of_ours_lives_with_the_roles_of_karmadactl_register(fleet: Fleet, registered: Path) -> None:
    agent = fleet.agent("member3", registered)
    agent.start()
    try:
        fleet.eventually(lambda: fleet.exists("cluster", "member3") and fleet.is_back("member3"), "member3 has joined")
        take_ours_away(fleet)
        place_divided(fleet, "member3", "member2")
        agent.kill()
        fleet.eventually(lambda: fleet.ready("member3")[0] == "Unknown", "member3 is silent")
        fleet.eventually(lambda: has_moved_to(fleet, {"member2": 3}), "member2 has 3 and the task is gone")
        agent.start()
        fleet.eventually(lambda: fleet.is_back("member3"), "member3 is back")
        fleet.eventually(lambda: is_cleaned_up(fleet, "member3"), "what was left behind is cleaned up")
        remove(fleet)
        assert "cannot patch" not in agent.last_words()
        assert "has left" in fleet.leeward("unregister", "member3")
    finally:
        agent.stop()


def take_ours_away(fleet: Fleet) -> None:
    """The roles that the controller `agentAccess` has given it."""
    name = "system:karmada:agent:member3"
    fleet.kubectl("delete", "clusterrole,clusterrolebinding", name)
    for namespace in ("kube-system", "karmada-system", "karmada-cluster", "default", "karmada-es-member3"):
        fleet.kubectl("delete", "role,rolebinding", name, "-n", namespace)
