"""Clusters register with a local control plane: with our verbs, with the requests of karmadactl, and leave again."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubeclient import Client
from kubeclient.connection import Connection, transport_of
from kubeclient.kubeconfig import load
from tests.kubectl import CONTROL_PLANE, run_command
from tests.migration import karmadactl
from tests.migration.joining_agent import JoiningAgent
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.processes.lone_server import LoneServer

pytestmark = [pytest.mark.processes, needs_kubectl]

TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    options = ("--member", "member1=push", "--member", "member3=pull")
    with running_fleet(tmp_path_factory.mktemp("fleet"), *options) as running:
        yield running


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Generator[LoneServer]:
    server = LoneServer(tmp_path_factory.mktemp("newcomer"))
    server.start()
    try:
        server.write_kubeconfig(server.directory / "kubeconfig")
        yield server
    finally:
        server.stop()


def administrator(fleet: Fleet) -> Connection:
    return load(fleet.kubeconfig, CONTROL_PLANE)


def leeward(*arguments: str, fails: bool = False) -> str:
    return run_command([sys.executable, "-m", "leeward.cli", *arguments], fails)


def test_a_cluster_registers_with_the_command_that_token_create_prints(
    fleet: Fleet, newcomer: LoneServer, tmp_path: Path
) -> None:
    for flags in ((), ("--print-register-command",)):
        printed = fleet.leeward("token", "create", *flags, "--cluster", "fresh")
    _, *command = printed.split()
    identity = tmp_path / "agent.kubeconfig"
    assert "now run" in leeward(*command, "--karmada-kubeconfig", str(identity))
    ports = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    agent = [sys.executable, "-m", "leeward.cli", "agent", "--cluster-name=fresh", *ports]
    agent += [f"--karmada-kubeconfig={identity}", f"--kubeconfig={newcomer.directory / 'kubeconfig'}"]
    with (tmp_path / "agent.log").open("wb") as log:
        process = subprocess.Popen(agent, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        fleet.eventually(lambda: fleet.exists("cluster", "fresh"), "fresh has joined")
        fleet.eventually(lambda: fleet.ready("fresh")[0] == "True", "fresh is Ready")
        here = ("--kubeconfig", str(fleet.kubeconfig), "--karmada-context", CONTROL_PLANE)
        assert "has left" in leeward("unregister", "fresh", *here)
    finally:
        process.terminate()
        process.wait(10)


def test_karmadactl_registers_a_cluster_and_its_agent_joins(fleet: Fleet) -> None:
    """A person approves the generator of roles, nobody the agent. The token is good for no second one."""
    command = fleet.leeward("token", "create").split()
    ca_hash = next(argument for argument in command if argument.startswith("sha256:"))
    server = administrator(fleet).server

    async def approve(name: str) -> None:
        assert not fleet.get("csr", name).get("status", {}).get("conditions")
        fleet.kubectl("certificate", "approve", name)

    async def main() -> None:
        admin = Client(transport_of(administrator(fleet)))
        await karmadactl.create_token(admin, TOKEN)
        identity = await karmadactl.register(server, TOKEN, ca_hash, "stranger", approve)
        client = Client(transport_of(identity))
        again = Client(transport_of(replace(identity, token=TOKEN, client_certificate=b"", client_key=b"")))
        try:
            agent = JoiningAgent(client, "stranger", lambda: datetime.now(UTC))
            cluster = await agent.join("an-id-of-its-own", "https://stranger.example")
            await agent.lead()
            await agent.report({"kubernetesVersion": "v1.36.0"})
            await agent.renew(cluster["metadata"]["uid"])
            await agent.follow()
            with pytest.raises(AssertionError, match="was used for the cluster stranger"):
                await karmadactl.ask_for_identity(again, identity, "second")
            removing = asyncio.create_task(agent.carry_out_removals())
            await karmadactl.unregister(admin, "stranger")
            removing.cancel()
        finally:
            for each in (client, again, admin):
                await each.close()

    asyncio.run(main())
    assert not fleet.exists("cluster", "stranger")
    assert not fleet.exists("clusterrole", "system:karmada:stranger:agent")
    assert not fleet.exists("csr", "agent-rbac-generator-strangerabcde")


def test_karmadactl_takes_a_local_pull_member_out(fleet: Fleet) -> None:
    fleet.eventually(lambda: fleet.ready("member3")[0] == "True", "member3 is Ready")

    async def main() -> None:
        admin = Client(transport_of(administrator(fleet)))
        try:
            await karmadactl.unregister(admin, "member3")
        finally:
            await admin.close()

    asyncio.run(main())
    assert not fleet.exists("cluster", "member3")
    assert not fleet.exists("namespace", "karmada-es-member3")
