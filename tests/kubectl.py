"""A fleet as the real kubectl shows it, through one kubeconfig with a context for the control plane and each member.

Single objects that are looked at again and again are read without it (`tests/api_reader.py`).
"""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.api_reader import ApiReader

COMMAND_SECONDS = 240.0
"""Longer than any command waits for something by itself."""
POLL_SECONDS, POLL_GROWTH, LONGEST_POLL_SECONDS = 0.2, 1.5, 1.0
"""Some looks are a process each: what takes long is looked at less and less often."""
CONTROL_PLANE = "karmada-apiserver"
OUTPUT_LOST, MOST_LOST = "Unknown stream id", 2
"""Words of a kubectl that has discarded what a command printed before its own streams were made, and how often it is
run again for that: a defect of kubectl on busy machines, mended since (kubernetes/kubernetes#131203)."""

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not on PATH: the walkthrough on real processes is not tested"
)


class CommandFailed(AssertionError):
    """A command did not end as expected. Who only wanted to look has not seen anything."""


class Kubectl:
    """Every fleet has a cache of discovery of its own: the next one has other servers at the same ports."""

    patience_seconds = 40.0

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._reader = ApiReader(kubeconfig)

    def kubectl(self, *arguments: str, context: str = CONTROL_PLANE, stdin: str = "", fails: bool = False) -> str:
        cache = self.kubeconfig.with_name("kubectl-cache")
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "--cache-dir", str(cache), "--context", context]
        said = run_command([*command, *arguments], fails, stdin)
        for _ in range(MOST_LOST):
            if OUTPUT_LOST not in said:
                break
            said = run_command([*command, *arguments], fails, stdin)
        return said

    def look(self, *arguments: str, context: str = CONTROL_PLANE) -> tuple[int, bytes] | None:
        """Answer of the server that is asked for one object; None where kubectl has to ask."""
        try:
            return self._reader.read(context, arguments)
        except (OSError, HTTPException) as error:
            raise CommandFailed(f"{context}: get {' '.join(arguments)}: {error!r}") from None

    def get(self, *arguments: str, context: str = CONTROL_PLANE) -> dict[str, Any]:
        seen = self.look(*arguments, context=context)
        if seen is None:
            return json.loads(self.kubectl("get", *arguments, "-o", "json", context=context))
        code, body = seen
        if code != HTTPStatus.OK:
            raise CommandFailed(f"{context}: get {' '.join(arguments)}: {body.decode()}")
        return json.loads(body)

    def exists(self, *arguments: str, context: str = CONTROL_PLANE) -> bool:
        seen = self.look(*arguments, context=context)
        if seen is None:
            return bool(self.kubectl("get", *arguments, "--ignore-not-found", "-o", "name", context=context))
        code, body = seen
        if code != HTTPStatus.OK and not (code == HTTPStatus.NOT_FOUND and _is_about(body, arguments[1])):
            raise CommandFailed(f"{context}: get {' '.join(arguments)}: {body.decode()}")
        return code == HTTPStatus.OK

    def ready(self, cluster: str) -> tuple[str, str]:
        """Status and reason of the Cluster's condition Ready."""
        conditions = self.get("cluster", cluster).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Ready"), ("", ""))

    def taints(self, cluster: str) -> set[str]:
        return {f"{t['key']}:{t['effect']}" for t in self.get("cluster", cluster)["spec"].get("taints", [])}

    def binding(self, name: str) -> dict[str, Any]:
        return self.get("resourcebinding", name)

    def assigned(self, name: str) -> dict[str, int]:
        return {t["name"]: t.get("replicas", 0) for t in self.binding(name)["spec"].get("clusters", [])}

    def eventually(self, holds: Callable[[], bool], what: str, times: int = 1) -> None:
        """Looks again and again. Real processes take real time; the bound only ends a test that would hang.

        A look that fails is no answer: what is asked for may not be there yet, or its server just starts again.
        `times` as patient as otherwise: for what is large.
        """
        seconds, pause = self.patience_seconds * times, POLL_SECONDS
        deadline = time.monotonic() + seconds
        while (missing := _what_is_missing(holds)) is not None:
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{missing}\n{self.overview()}"
            time.sleep(pause)
            pause = min(pause * POLL_GROWTH, LONGEST_POLL_SECONDS)

    def overview(self) -> str:
        """Overview that a reader of a failed test wants to see first."""
        return told_of(lambda: self.kubectl("get", "clusters,resourcebindings,works", "-A", "-o", "wide"))


def _is_about(status: bytes, name: str) -> bool:
    """Tells whether it is the object that is not there, and not its kind."""
    with suppress(ValueError):
        return json.loads(status).get("details", {}).get("name") == name
    return False


def told_of(look: Callable[[], str]) -> str:
    """Tells what one sees, or why nothing."""
    try:
        return look()
    except CommandFailed as failure:
        return str(failure)


def _what_is_missing(holds: Callable[[], bool]) -> str | None:
    """None when it holds; else why one could not look, or nothing more than that it does not."""
    try:
        return None if holds() else ""
    except CommandFailed as failure:
        return str(failure)


def run_command(command: list[str], fails: bool = False, stdin: str = "") -> str:
    """Gives what a command prints. Raises: CommandFailed unless it ends as expected, and in time."""
    told = " ".join(command)
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"{told}\nhas not ended within {COMMAND_SECONDS:g} s") from None
    if (done.returncode != 0) != fails:
        raise CommandFailed(f"{told}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr if fails else done.stdout
