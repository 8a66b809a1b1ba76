"""A server for tests: `from kubeserver.testing import server`, and ask for `server` as for any fixture of pytest.

It runs in a thread of the test's own process, over HTTPS on a port that is free, with a store in the test's temporary
directory; a test that ends takes it away. `running_server` is the same without pytest, and with definitions of custom
resources that are there from the start.
"""

import asyncio
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeapi.codec import render_yaml
from kubeapi.files import write_file
from kubeapi.loop import Randomness, Supervisor
from kubeapi.meta import Manifest
from kubeserver.certificates import AUTHORITY, Pair
from kubeserver.standalone import CERTIFICATES, ApiServerConfig, run_apiserver

START_SECONDS, STOP_SECONDS = 30.0, 10.0
USER, GROUP = "admin", "system:masters"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Ways to reach it: as an administrator, with `kubeconfig`, or with `token` and the authority in `ca_file`."""

    url: str
    token: str
    ca_file: Path
    kubeconfig: Path


@pytest.fixture
def server(tmp_path: Path) -> Generator[RunningServer]:
    """A server of the test's own; it behaves as a cluster does with its namespaces and dependents."""
    with running_server(tmp_path / "kubeserver") as running:
        yield running


@contextmanager
def running_server(
    directory: Path, crds: Sequence[Manifest] = (), initializing_seconds: float = 0.0
) -> Generator[RunningServer]:
    """Serves from `directory` until the end of the block; the objects of a definition are put off (429) for so many
    seconds from the first request for them. Raises: whatever the server could not start for."""
    token, tokens = Randomness().token(), directory / "tokens.csv"
    write_file(tokens, f"{token},{USER},{USER},{GROUP}\n")
    started: Future[int] = Future()
    config = ApiServerConfig(
        data_dir=directory,
        port=0,
        token_auth_file=tokens,
        controllers=True,
        initializing_seconds=initializing_seconds,
        crds=crds,
        ready=started.set_result,
    )
    ending: Future[None] = Future()
    thread = threading.Thread(target=_serve, args=(config, started, ending), name="kubeserver", daemon=True)
    thread.start()
    try:
        yield _described(directory, started.result(START_SECONDS), token)
    finally:
        ending.set_result(None)
        thread.join(STOP_SECONDS)


def _serve(config: ApiServerConfig, started: "Future[int]", ending: "Future[None]") -> None:
    """Serves until `ending` is done; `started` has the port, or why there is none."""

    async def work() -> None:
        try:
            await run_apiserver(config)
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    async def until_the_end() -> None:
        async with Supervisor("kubeserver") as supervisor:
            supervisor.start(work(), "server")
            await asyncio.wrap_future(ending)

    asyncio.run(until_the_end())


def _described(directory: Path, port: int, token: str) -> RunningServer:
    url, kubeconfig = f"https://127.0.0.1:{port}", directory / "kubeconfig"
    authority = Pair.in_directory(directory / CERTIFICATES, AUTHORITY).certificate
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "kubeserver",
        "clusters": [{"name": "kubeserver", "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": USER, "user": {"token": token}}],
        "contexts": [{"name": "kubeserver", "context": {"cluster": "kubeserver", "user": USER}}],
    }
    write_file(kubeconfig, render_yaml(config))
    return RunningServer(url, token, authority, kubeconfig)
