"""Health and version endpoints, and metrics: the paths that probes ask, mostly without credentials.

Everybody may learn whether the server is well, and whether it is its store that is not; the whole reason, only who may
ask for the one check.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry, generate_latest

from kubeapi import codec
from kubeapi.transport import Request, Response
from kubeserver.errors import JSON, TEXT, page_not_found
from kubeserver.store import Store

KUBERNETES_VERSION = "v1.36.0"
OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_CHECKS: tuple[str, ...] = ("ping", "etcd", "ready")
_ROOM = "room"
_PROBES: dict[str, tuple[str, ...]] = {"healthz": _CHECKS[:2], "livez": _CHECKS[:2], "readyz": _CHECKS}


@dataclass(slots=True)
class Health:
    """Health as the probes are told. `ready = False` makes /readyz (not /livez) fail; `reason` says why."""

    store: Store
    metrics: CollectorRegistry
    version: str = KUBERNETES_VERSION
    ready: bool = True
    reason: str = "made unready"
    nearly_full: Callable[[], str] | None = None
    """Tells what the store has little room for. Only who asks `/readyz/room` hears of it: nothing is unready for it."""

    def answer(self, request: Request) -> Response | None:
        """The answer to a health, version or metrics path; None for any other."""
        path = request.path.rstrip("/")
        if path == "/version":
            return Response(200, codec.encode(self._version()), {"content-type": JSON})
        if path == "/metrics":
            return Response(200, generate_latest(self.metrics), {"content-type": _METRICS_TYPE})
        probe, _, check = path.removeprefix("/").partition("/")
        if probe not in _PROBES:
            return None
        checks = self._checks(probe)
        if check == _ROOM and self.nearly_full is not None:
            return _report_one(self.nearly_full())
        if check:
            return _report_one(checks[check]) if check in checks else page_not_found()
        return _report(probe, checks, _excluded(request), "verbose" in request.query, self._public_reasons())

    def paths(self) -> list[str]:
        """Paths that are answered here."""
        checks = [f"/{probe}/{check}" for probe, checks in _PROBES.items() for check in checks]
        return ["/metrics", "/version", *(f"/{probe}" for probe in _PROBES), *checks]

    def _public_reasons(self) -> dict[str, str]:
        """Reasons of failures, as everybody may learn them."""
        failed = "the store has failed: see the log of the server, or ask /readyz/etcd"
        return {"etcd": failed if self.store.failure else "the store takes no writes: its disk is full"}

    def _checks(self, probe: str) -> dict[str, str]:
        """The failure of each check; empty where it is fine."""
        checks = dict.fromkeys(_PROBES[probe], "")
        checks["etcd"] = self.store.failure or self.store.full
        if probe == "readyz" and not self.ready:
            checks["ready"] = self.reason
        return checks

    def _version(self) -> dict[str, str]:
        major, minor = self.version.removeprefix("v").split(".")[:2]
        return {
            "major": major,
            "minor": minor,
            "emulationMajor": major,
            "emulationMinor": minor,
            "minCompatibilityMajor": major,
            "minCompatibilityMinor": minor,
            "gitVersion": self.version,
            "gitCommit": "0" * 40,
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "none",
            "compiler": "cpython",
            "platform": "linux/amd64",
        }


def _excluded(request: Request) -> list[str]:
    """The checks that the asker does not want to know of; the parameter may be there several times."""
    every = parse_qs(request.query_string).get("exclude")
    return every or [request.query["exclude"]] if "exclude" in request.query else []


def _report_one(failure: str) -> Response:
    if failure:
        return Response(500, f"internal server error: {failure}\n".encode(), {"content-type": TEXT})
    return Response(200, b"ok", {"content-type": TEXT})


def _report(
    probe: str, checks: Mapping[str, str], excluded: Collection[str], verbose: bool, reasons: Mapping[str, str]
) -> Response:
    """`reasons` are those that everybody may learn, by check."""
    failed = any(failure for name, failure in checks.items() if name not in excluded)
    if not failed and not verbose:
        return Response(200, b"ok", {"content-type": TEXT})
    lines = [_line(name, failure, name in excluded, reasons.get(name, "")) for name, failure in checks.items()]
    if unknown := sorted(set(excluded) - checks.keys()):
        names = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    lines.append(f"{probe} check {'failed' if failed else 'passed'}")
    return Response(500 if failed else 200, "\n".join([*lines, ""]).encode(), {"content-type": TEXT})


def _line(name: str, failure: str, excluded: bool, reason: str) -> str:
    if excluded:
        return f"[+]{name} excluded: ok"
    return f"[-]{name} failed: {reason or 'reason withheld'}" if failure else f"[+]{name} ok"
