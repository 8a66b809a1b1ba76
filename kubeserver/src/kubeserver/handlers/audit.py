"""The audit log: who asked for what, when, and how it was answered; one JSON line for each request.

Events of `audit.k8s.io/v1` at the level Metadata: never a body, never a header but the user agent, and of the query
only parameters that hold no secret. Whoever goes away before the answer is told of as well: what they asked for may be
done. A log that cannot be written stops no request.
"""

import logging
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from kubeapi import codec
from kubeapi.loop import Clock, Randomness
from kubeapi.meta import format_micro_time
from kubeapi.transport import Request, Response
from kubeserver.auth.authorization import Attributes, attributes_of
from kubeserver.handler import Handler, StreamResponse, User
from kubeserver.health import OPEN_PATHS
from kubeserver.warnings import collected_annotations

log = logging.getLogger(__name__)

MAX_BYTES = 50 * 1024 * 1024
_SHOWN_PARAMETERS = (
    "allowWatchBookmarks",
    "continue",
    "dryRun",
    "fieldManager",
    "fieldSelector",
    "fieldValidation",
    "force",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeout",
    "timeoutSeconds",
    "watch",
)

_UNANSWERED = {"status": "Failure", "message": "the request ended before it was answered"}

Sink = Callable[[bytes], None]


class Audit:
    """A `Handler` before another; `sink` gets the lines, without their ends. Probes are not told of."""

    def __init__(self, handler: Handler, sink: Sink, clock: Clock, randomness: Randomness) -> None:
        self._handler = handler
        self._sink = sink
        self._clock = clock
        self._randomness = randomness

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if request.path.startswith(OPEN_PATHS):
            return await self._handler.handle(request, user)
        received = self._clock.now()
        answer: Response | StreamResponse | None = None
        with collected_annotations() as annotations:
            try:
                answer = await self._handler.handle(request, user)
                return answer
            finally:
                event = _event(request, user, answer, received, self._clock.now())
                if annotations:
                    event["annotations"] = annotations
                self._sink(codec.encode({**event, "auditID": self._randomness.uid()}))


class AuditFile:
    """A sink: appends to `path` (mode 0600), and begins anew when it is full.

    The `backups` before it are kept as `path.1`, the newest, and so on. Holds: no more than `max_bytes` in each.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, backups: int = 1) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor: int | None = None
        self._failed = False

    def __call__(self, line: bytes) -> None:
        try:
            os.write(self._open(len(line)), line + b"\n")
            self._failed = False
        except OSError as error:
            if not self._failed:
                log.error("the audit log %s cannot be written: %s", self._path, error)
            self._failed = True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self, more: int) -> int:
        if self._descriptor is not None and os.fstat(self._descriptor).st_size + more > self._max_bytes:
            self.close()
            self._move_on()
        if self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return self._descriptor

    def _move_on(self) -> None:
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{n}") for n in range(1, self._backups + 1))]
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            if newer.exists():
                newer.replace(older)


def write_to_stdout(line: bytes) -> None:
    """A sink: kube-apiserver's `--audit-log-path=-`."""
    os.write(1, line + b"\n")


def _event(
    request: Request, user: User, answer: Response | StreamResponse | None, received: datetime, answered: datetime
) -> dict[str, Any]:
    """Event of a request. Without an answer it was given up: by the client, or because it took too long."""
    asked = attributes_of(request)
    streams = isinstance(answer, StreamResponse)
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseStarted" if streams else "ResponseComplete",
        "requestURI": _uri(request),
        "verb": asked.verb,
        "user": user.info(),
        "impersonatedUser": _impersonated(request.headers),
        "userAgent": request.headers.get("user-agent", ""),
        "objectRef": None if asked.path else _reference(asked),
        "responseStatus": {"code": answer.code} if answer is not None else _UNANSWERED,
        "requestReceivedTimestamp": format_micro_time(received),
        "stageTimestamp": format_micro_time(answered),
    }
    return {key: value for key, value in event.items() if value not in ("", None)}


def _uri(request: Request) -> str:
    shown = {key: value for key, value in request.query.items() if key in _SHOWN_PARAMETERS}
    return f"{request.path}?{urlencode(shown)}" if shown else request.path


def _impersonated(headers: Mapping[str, str]) -> dict[str, Any] | None:
    name = headers.get("impersonate-user", "")
    if not name:
        return None
    return {"username": name, "groups": list(filter(None, headers.get("impersonate-group", "").split("\n")))}


def _reference(asked: Attributes) -> dict[str, str]:
    reference = {
        "resource": asked.resource,
        "namespace": asked.namespace,
        "name": asked.name,
        "apiGroup": asked.group,
        "subresource": asked.subresource,
    }
    return {key: value for key, value in reference.items() if value}
