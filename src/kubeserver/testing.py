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
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeserver.certificates import AUTHORITY, Pair
from kubeserver.standalone import CERTIFICATES, ApiServerConfig, run_apiserver

START_SECONDS, STOP_SECONDS = 30.0, 10.0
USER, GROUP = "admin", "system:masters"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """How to reach it: as an administrator, with `kubeconfig`, or with `token` and the authority in `ca_file`."""

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
def running_server(directory: Path, crds: Sequence[Manifest] = ()) -> Generator[RunningServer]:
    """Serves from `directory` until the end of the block. Raises: whatever the server could not start for."""
    token, tokens = Randomness().token(), directory / "tokens.csv"
    write_file(tokens, f"{token},{USER},{USER},{GROUP}\n")
    started: Future[int] = Future()
    config = ApiServerConfig(
        data_dir=directory, port=0, token_auth_file=tokens, controllers=True, crds=crds, ready=started.set_result
    )
    stop = _Stop()
    thread = threading.Thread(target=_serve, args=(config, started, stop), name="kubeserver", daemon=True)
    thread.start()
    try:
        yield _described(directory, started.result(START_SECONDS), token)
    finally:
        stop.now()
        thread.join(STOP_SECONDS)


class _Stop:
    """Ends the serving task from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def is_for(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None] | None") -> None:
        self._loop, self._task = loop, task

    def now(self) -> None:
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)


def _serve(config: ApiServerConfig, started: "Future[int]", stop: _Stop) -> None:
    async def work() -> None:
        stop.is_for(asyncio.get_running_loop(), asyncio.current_task())
        try:
            await run_apiserver(config)
        except asyncio.CancelledError:
            pass
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    asyncio.run(work())


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
