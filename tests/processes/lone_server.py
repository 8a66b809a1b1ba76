"""A real `leeward apiserver` as a process of its own, and kubeconfigs for its users."""

import http.client
import ssl
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from kubeapi.codec import render_yaml
from kubeapi.loop.randomness import Randomness
from leeward.app.local.ports import pick_port

START_SECONDS = 30.0
STOP_SECONDS = 60.0
POLL_SECONDS = 0.05
AS_SINCE_1_34 = ("--initializing-storage", "3s")
"""Options of a server that puts off the objects of a new definition at first, as kube-apiserver since 1.34."""
USERS = {"admin": "system:masters", "bob": "dev"}
"""Each has one group, and the token `NAME-token`."""


class LoneServer:
    """Nothing but the directory outlives the process."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.port = pick_port(Randomness())
        self.url = f"https://127.0.0.1:{self.port}"
        self.authority = directory / "data" / "pki" / "ca.crt"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it is ready."""
        tokens = self.directory / "tokens.csv"
        tokens.write_text("".join(f"{user}-token,{user},{user},{group}\n" for user, group in USERS.items()))
        flags = ["--secure-port", str(self.port), "--token-auth-file", str(tokens)]
        command = [sys.executable, "-m", "leeward.cli", "apiserver", *flags, *self._options]
        command += ["--data-dir", str(self.directory / "data")]
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(STOP_SECONDS)

    def log(self) -> str:
        return (self.directory / "server.log").read_text()[-4000:]

    def write_kubeconfig(self, path: Path, namespace: str = "default") -> None:
        """One context for each of the users; the first is the current one."""
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        contexts = {user: {"cluster": "lone", "user": user, "namespace": namespace} for user in USERS}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": next(iter(USERS)),
            "clusters": [{"name": "lone", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": f"{user}-token"}} for user in USERS],
            "contexts": [{"name": user, "context": context} for user, context in contexts.items()],
        }
        path.write_text(render_yaml(config))

    def _is_ready(self) -> bool:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=START_SECONDS, context=context)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@contextmanager
def lone_server(directory: Path, *options: str) -> Generator[LoneServer]:
    server = LoneServer(directory, *options)
    server.start()
    try:
        yield server
    finally:
        server.stop()
