"""D1, D2 and D4: what the control plane's API server answers is durable, is not older than the question, and no write
replaces another than the one it names.

Readers are answered from what is durable at some moment between question and answer; a list is of one revision. A
write is acknowledged when it survives whatever comes. Since what is durable is remembered over crashes and power cuts,
a write that a restart loses is seen by the first who reads it.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from kubeclient import Request, Response
from simulator.histories.checkers.ledger import Ledger
from simulator.histories.checkers.scene import Scene, Violation
from simulator.paths import Target, resource_of, target_of

SUBRESOURCES = ("", "status")
SELECTING = ("labelSelector", "fieldSelector", "limit", "continue")
RENDERED = "as=Table"


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    items: list["_Object"] | None = None


class AnswersChecker:
    """Sees each answer with the newest revision that was durable when its question arrived."""

    def __init__(self, scene: Scene, ledger: Ledger) -> None:
        self._scene = scene
        self._ledger = ledger

    def look(self, request: Request, answer: Response, asked_at: int) -> Iterator[Violation]:
        target = target_of(request.path)
        if target is None or target.subresource not in SUBRESOURCES or "dryRun" in request.query:
            return
        if request.method == "GET" and answer.code == 404 and target.name:
            yield from self._absent(target, asked_at)
        if answer.code not in (200, 201) or RENDERED in request.headers.get("accept", ""):
            return
        found = msgspec.json.decode(answer.body, type=_Object)
        if not found.metadata.resource_version.isdigit():
            return
        if request.method in ("POST", "PUT", "PATCH"):
            yield from self._written(request, target, found)
        elif request.method == "GET" and target.name:
            yield from self._read(target, found, asked_at)
        elif request.method == "GET":
            yield from self._listed(request, target, found, asked_at)

    def _written(self, request: Request, target: Target, found: _Object) -> Iterator[Violation]:
        """Holds: D1, D2, D4."""
        key, revision = _key_of(target, found), int(found.metadata.resource_version)
        entry = self._ledger.at(key, revision)
        if entry is None or entry.revision != revision or entry.deleted:
            yield self._violation("D1", f"{request.method} {key} was acknowledged as {revision}, which is not durable")
            return
        named = _version_in(request)
        before = self._ledger.before(key, revision)
        if named and named not in (revision, before.revision if before is not None else 0):
            message = f"{request.method} {key} named version {named}, and replaced {before}"
            yield self._violation("D4", message)

    def _read(self, target: Target, found: _Object, asked_at: int) -> Iterator[Violation]:
        revision = int(found.metadata.resource_version)
        seen = [entry.revision for entry in self._ledger.since(target.key, asked_at) if not entry.deleted]
        if revision not in seen:
            message = f"{target.key} was read as {revision}; since it was asked for it was {seen or 'not there'}"
            yield self._violation("D4", message)

    def _absent(self, target: Target, asked_at: int) -> Iterator[Violation]:
        """Holds: D1, D4. Not found is not there, at one moment at least."""
        before = self._ledger.at(target.key, asked_at)
        seen = list(self._ledger.since(target.key, asked_at))
        if before is not None and not any(entry.deleted for entry in seen):
            yield self._violation("D1", f"{target.key} was not found; it is there since {before.revision}")

    def _listed(self, request: Request, target: Target, found: _Object, asked_at: int) -> Iterator[Violation]:
        revision = int(found.metadata.resource_version)
        if "resourceVersion" not in request.query and "continue" not in request.query and revision < asked_at:
            yield self._violation("D4", f"the list of {target.prefix} is of {revision}; {asked_at} was there already")
        listed = {_key_of(target, item): int(item.metadata.resource_version) for item in found.items or ()}
        there = self._ledger.living(target.prefix, revision)
        if any(request.query.get(name) for name in SELECTING):
            there = {key: there[key] for key in there if key in listed}
        if listed != there:
            wrong = sorted(key for key in {*listed, *there} if listed.get(key) != there.get(key))
            message = f"the list of {target.prefix} at {revision} has others than were there: {', '.join(wrong[:3])}"
            yield self._violation("D4", message)

    def _violation(self, invariant: str, message: str) -> Violation:
        return Violation(invariant, self._scene.truth.now(), message)


def _key_of(target: Target, found: _Object) -> str:
    return f"{resource_of(target.prefix)}{found.metadata.namespace}/{found.metadata.name}"


def _version_in(request: Request) -> int:
    """The version that a write names, 0 where it names none."""
    if request.method == "POST" or b'"resourceVersion"' not in request.body:
        return 0
    try:
        body: Any = msgspec.json.decode(request.body, type=_Object)
    except msgspec.MsgspecError:
        return 0
    version = body.metadata.resource_version
    return int(version) if version.isdigit() else 0
