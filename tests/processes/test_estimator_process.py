"""`leeward scheduler-estimator` as a process, asked over TLS, beside a real API server."""

import asyncio
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from kubeapi.resource import Resource
from kubeclient import Client
from kubeclient.connection import transport_of
from kubeclient.kubeconfig import load
from leeward.api.work import ReplicaRequirements
from leeward.core.scheduling.estimates import Question
from leeward.estimator.access import EstimatorAccess
from leeward.estimator.channels import SERVICES, EstimatorChannels
from tests.certificates import Authority
from tests.ports import free_port
from tests.processes.lone_server import LoneServer

pytestmark = pytest.mark.processes

NODES = Resource.of_manifests("v1", "nodes", "Node", False)
NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
ASKED = Question(ReplicaRequirements(resource_request={"cpu": "1"}))
START_SECONDS = 30.0


@pytest.fixture
def server(tmp_path: Path) -> Generator[LoneServer]:
    """Server that is the control plane and the member at once."""
    found = LoneServer(tmp_path)
    found.start()
    found.write_kubeconfig(tmp_path / "kubeconfig")
    yield found
    found.stop()


def files(directory: Path) -> dict[str, str]:
    authority = Authority()
    contents = {"ca.crt": authority.certificate}
    for name in ("server", "client"):
        contents[f"{name}.crt"], contents[f"{name}.key"] = authority.issue(name)
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return {name: str(directory / name) for name in contents}


def command(directory: Path, port: int, health: int) -> list[str]:
    pki = files(directory)
    flags = {
        "cluster-name": "member1",
        "kubeconfig": str(directory / "kubeconfig"),
        "server-port": f"127.0.0.1:{port}",
        "health-probe-bind-address": f"127.0.0.1:{health}",
        "metrics-bind-address": "0",
        "grpc-auth-cert-file": pki["server.crt"],
        "grpc-auth-key-file": pki["server.key"],
        "grpc-client-ca-file": pki["ca.crt"],
    }
    return [sys.executable, "-m", "leeward.cli", "scheduler-estimator", *(f"--{k}={v}" for k, v in flags.items())]


def wait_ready(process: subprocess.Popen[bytes], health: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{health}/readyz", timeout=START_SECONDS).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("it is not ready")


async def ask(directory: Path, port: int) -> int:
    client = Client(transport_of(load(directory / "kubeconfig")), "test")
    status = {"allocatable": {"cpu": "3", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]}
    spec = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": 10_352, "targetPort": port}]}
    access = EstimatorAccess(
        enabled=True,
        authority=directory / "ca.crt",
        certificate=directory / "client.crt",
        key=directory / "client.key",
    )
    channels = EstimatorChannels(client, access)
    try:
        await client.create(NODES, {"metadata": {"name": "n1"}})
        await client.patch(NODES, "n1", {"status": status}, subresource="status")
        await client.create(NAMESPACES, {"metadata": {"name": "karmada-system"}})
        name = "karmada-scheduler-estimator-member1"
        await client.create(SERVICES, {"metadata": {"name": name}, "spec": spec}, "karmada-system")
        for _ in range(600):
            found = await channels.room("member1", ASKED)
            if found:
                return found
            await asyncio.sleep(0.05)
        raise AssertionError("the node is not seen")
    finally:
        await channels.close()
        await client.close()


def test_it_answers_over_tls_and_ends_when_it_is_told_to(server: LoneServer, tmp_path: Path) -> None:
    port, health = free_port(), free_port()
    with (tmp_path / "estimator.log").open("wb") as log:
        process = subprocess.Popen(command(tmp_path, port, health), stdout=log, stderr=log)
    try:
        wait_ready(process, health)
        assert asyncio.run(ask(tmp_path, port)) == 3
    finally:
        process.terminate()
        assert process.wait(10) == 0, (tmp_path / "estimator.log").read_text()[-2000:]
