"""Sources of bearer tokens: a fixed one, a file that somebody else renews, or an exec plug-in.

A token never appears in a `repr`, a log or an error.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast

from kubeapi.errors import NoCredential
from kubeapi.loop import Clock
from kubeapi.meta import parse_time

EXEC_TIMEOUT_SECONDS = 30.0
EXPIRY_MARGIN = timedelta(seconds=10)
EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class TokenSource(Protocol):
    async def token(self) -> str:
        """The token for the next request. Raises: NoCredential."""
        ...

    def forget(self) -> None:
        """The server refused the last token: do not give it from a cache again."""
        ...


class FixedToken:
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token

    def forget(self) -> None:
        return


class TokenFile:
    """Reads the file for every request, as it is replaced from time to time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        try:
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise NoCredential(f"token file {self._path}: {error}") from error
        if not token:
            raise NoCredential(f"token file {self._path} is empty")
        return token

    def forget(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints an `ExecCredential`; `cluster` describes the cluster for a program that asks."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    api_version: str = EXEC_API_VERSIONS[0]
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)


class ExecToken:
    """Asks an exec plug-in, and keeps its token until shortly before that expires."""

    def __init__(self, plugin: ExecPlugin, clock: Clock, timeout_seconds: float = EXEC_TIMEOUT_SECONDS) -> None:
        self._plugin = plugin
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._lock = asyncio.Lock()
        self._token = ""
        self._expires_at: datetime | None = None

    async def token(self) -> str:
        async with self._lock:
            if not self._token or self._is_expired():
                self._token, self._expires_at = _read_credential(self._plugin.command, await self._run())
            return self._token

    def forget(self) -> None:
        self._token = ""

    def _is_expired(self) -> bool:
        return self._expires_at is not None and self._clock.now() >= self._expires_at - EXPIRY_MARGIN

    async def _run(self) -> bytes:
        process = await self._start()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                output, errors = await process.communicate()
        except TimeoutError as error:
            raise self._failed(f"did not finish within {self._timeout_seconds:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise self._failed(
                f"ended with code {process.returncode}: {errors[-500:].decode(errors='replace').strip()}"
            )
        return output

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                env={**os.environ, **self._plugin.env, "KUBERNETES_EXEC_INFO": self._exec_info()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {self._plugin.install_hint}" if self._plugin.install_hint else ""
            raise self._failed(f"cannot be started: {error.strerror}{hint}") from error

    def _exec_info(self) -> str:
        cluster = {"cluster": self._plugin.cluster} if self._plugin.cluster else {}
        spec = {"interactive": False, **cluster}
        return json.dumps({"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec})

    def _failed(self, problem: str) -> NoCredential:
        return NoCredential(f"exec plug-in {self._plugin.command} {problem}")


def _read_credential(command: str, output: bytes) -> tuple[str, datetime | None]:
    """The token, and when it expires. Raises: NoCredential."""
    status = _status_of(output)
    token, expiry = status.get("token"), status.get("expirationTimestamp")
    if not isinstance(token, str) or not token:
        raise NoCredential(f"exec plug-in {command} printed no ExecCredential with a status.token")
    try:
        return token, parse_time(expiry) if isinstance(expiry, str) else None
    except ValueError as error:
        raise NoCredential(f"exec plug-in {command}: status.expirationTimestamp: {error}") from error


def _status_of(output: bytes) -> Mapping[str, Any]:
    try:
        credential = json.loads(output)
    except ValueError:
        return {}
    if not isinstance(credential, dict):
        return {}
    status = cast(dict[str, Any], credential).get("status")
    return cast(dict[str, Any], status) if isinstance(status, dict) else {}
