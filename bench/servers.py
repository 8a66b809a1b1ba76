"""The API servers that are measured: ours, and etcd with kube-apiserver where their programs are given.

Each runs on a fresh directory on the disk, in processes of its own, over TLS, with RBAC.
"""

import asyncio
import os
import signal
import socket
import ssl
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kubeapi.codec import render_yaml
from kubeapi.errors import WorldError
from kubeapi.loop.clock import SystemClock
from kubeclient import Client
from kubeclient.connection import Connection, transport_of
from kubeserver.certificates import Authority

TOKEN = "bench"
START_SECONDS = 60.0

Figures = dict[str, float]
"""Figures of one server: a number for each title."""


@dataclass
class Target:
    """A server that answers on 127.0.0.1, and its processes."""

    name: str
    port: int
    processes: Sequence[Process] = ()

    def client(self) -> Client:
        url = f"https://127.0.0.1:{self.port}"
        return Client(transport_of(Connection(url, insecure_skip_tls_verify=True, token=TOKEN)), "bench")

    def kubeconfig(self, directory: Path) -> Path:
        """Kubeconfig of an administrator, written into the directory."""
        server = {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": server}],
            "users": [{"name": "bench", "user": {"token": TOKEN}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        }
        path = directory / "kubeconfig"
        path.write_text(render_yaml(config))
        return path

    def memory_bytes(self) -> int:
        """Bytes that its processes hold in memory now."""
        pages = (int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) for process in self.processes)
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")

    def processor_seconds(self) -> float:
        """Seconds of the processors that its processes have used so far."""
        return spent_by([process.pid for process in self.processes])

    async def wait_ready(self) -> None:
        client = self.client()
        try:
            async with asyncio.timeout(START_SECONDS):
                while True:
                    if await _is_ready(client):
                        return
                    await asyncio.sleep(0.1)
        finally:
            await client.close()


@asynccontextmanager
async def leeward(directory: Path, *kinds: str) -> AsyncGenerator[Target]:
    """`kinds`: as `bench.server` is told."""
    port = free_port()
    command = [sys.executable, "-m", "bench.server", str(directory), str(port), *kinds]
    async with running([command], directory) as processes:
        target = Target("leeward", port, processes)
        await target.wait_ready()
        yield target


@asynccontextmanager
async def kubernetes(directory: Path, programs: Path) -> AsyncGenerator[Target]:
    """`programs` holds `etcd` and `kube-apiserver`."""
    client, peer, port = free_port(), free_port(), free_port()
    key, tokens = _signing_key(directory / "sa.key"), write_tokens(directory)
    etcd = [
        str(programs / "etcd"),
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{client}",
        f"--advertise-client-urls=http://127.0.0.1:{client}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        "--log-level=error",
    ]
    apiserver = [
        str(programs / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{client}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={directory / 'certificates'}",
        f"--token-auth-file={tokens}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
    ]
    async with running([etcd, apiserver], directory) as processes:
        target = Target("etcd + kube-apiserver", port, processes)
        await target.wait_ready()
        yield target


@asynccontextmanager
async def started() -> AsyncGenerator[list[Target]]:
    """Our server, and the other one where `KUBEBUILDER_ASSETS` names its programs; under `BENCH_DIRECTORY`."""
    programs = os.environ.get("KUBEBUILDER_ASSETS", "")
    starts = [leeward, partial(kubernetes, programs=Path(programs))] if programs else [leeward]
    async with AsyncExitStack() as stack:
        targets: list[Target] = []
        for start in starts:
            where = TemporaryDirectory(dir=os.environ.get("BENCH_DIRECTORY"), ignore_cleanup_errors=True)
            targets.append(await stack.enter_async_context(start(Path(stack.enter_context(where)))))
        yield targets


def print_beside(figures: dict[str, Figures]) -> None:
    """Prints a line for each title, and a column for each server."""
    names = list(figures)
    print(f"{'':<40}" + "".join(f"{name:>24}" for name in names))
    for row in figures[names[0]]:
        print(f"{row:<40}" + "".join(f"{figures[name][row]:>24,.2f}" for name in names))
    if len(names) == 1:
        print("(KUBEBUILDER_ASSETS is not set: etcd and kube-apiserver are not measured)")


def spent_by(ids: Sequence[int]) -> float:
    """Seconds of the processor that these processes have used so far."""
    stats = (Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in ids)
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def write_tokens(directory: Path) -> Path:
    path = directory / "tokens.csv"
    path.write_text(f'{TOKEN},bench,1,"system:masters"\n')
    return path


def trusting() -> ssl.SSLContext:
    """Makes a context for clients that believe every server, as on one machine they may."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def certificate(directory: Path) -> tuple[Path, Path, Path]:
    """Certificate, key and CA of a server on this machine."""
    authority = Authority(directory, SystemClock().now())
    pair = authority.server("bench")
    return pair.certificate, pair.key, authority.pair.certificate


@asynccontextmanager
async def running(commands: Sequence[Sequence[str]], directory: Path) -> AsyncGenerator[list[Process]]:
    processes: list[Process] = []
    try:
        for number, command in enumerate(commands):
            with (directory / f"{number}.log").open("wb") as log:
                start = asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=log, stderr=log)
                processes.append(await start)
        yield processes
    finally:
        for process in reversed(processes):
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()


async def _is_ready(client: Client) -> bool:
    try:
        return (await client.raw("GET", "/readyz", timeout_seconds=2)).code == 200
    except WorldError:
        return False


def _signing_key(path: Path) -> Path:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
