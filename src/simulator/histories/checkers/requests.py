"""S5 as it is asked: who deletes names the uid and the version that were seen, who writes what others write, too, names
the version.
S9 as well: who writes, writes what it owns.

Leases and events are left out: they have one writer each, and writing them twice is harmless.
"""

from collections.abc import Iterator

from kubeapi.codec import decode_any
from kubeclient import Request
from kubeclient.caller import HEADER
from kubeserver.handler import User
from simulator.histories.checkers.owners import foreign_conditions, foreign_fields
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import HOME

PARTIES = ("controllers", "agent-")
ONE_WRITER = ("/leases/", "/events/")
SHARED = ("/clusters/", "/resourcebindings/", "/works/")


class RequestsChecker:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, place: str, request: Request, user: User) -> Iterator[Violation]:
        if not request.headers.get("user-agent", "").startswith(PARTIES):
            return
        now = self._scene.truth.now()
        if request.method == "DELETE" and not any(plural in request.path for plural in ONE_WRITER):
            missing = [field for field in ("uid", "resourceVersion") if not _preconditions(request).get(field)]
            if missing:
                yield Violation("S5", now, f"{place}: DELETE {request.path} names no {' and no '.join(missing)}")
        is_shared = request.method in ("PUT", "PATCH") and any(plural in request.path for plural in SHARED)
        if is_shared and not _body(request).get("metadata", {}).get("resourceVersion"):
            yield Violation("S5", now, f"{place}: {request.method} {request.path} names no resourceVersion")
        if place != HOME:
            return
        foreign = [*foreign_fields(request), *foreign_conditions(request, self._scene.truth.clusters)]
        if foreign:
            who = request.headers.get(HEADER, "nobody who says so")
            yield Violation("S9", now, f"PATCH {request.path} by {who} writes what is others': {', '.join(foreign)}")


def _preconditions(request: Request) -> dict[str, str]:
    return _body(request).get("preconditions", {})


def _body(request: Request) -> dict[str, dict[str, str]]:
    return decode_any(request.body) if request.body else {}
