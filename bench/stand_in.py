"""A member of a fleet, as cheap as it can be: objects in memory, by collection; a Deployment is ready as soon as it is
written, and there are no Pods.
"""

import asyncio
import re
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import msgspec

from bench.fleet_copies import Copy, Orders
from kubeapi.meta import Manifest

READY_SECONDS = 0.2
BOOKMARK_SECONDS = 60.0
NODES = 3
MOST_DELETIONS = 100_000
"""Number of deletions that are remembered, for those who watch from an earlier version on."""
_PATH = re.compile(r"/(api/v1|apis/[^/]+/[^/]+)(?:/namespaces/([^/]+)(?=/))?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?")
_KINDS = {"nodes": "Node", "pods": "Pod", "namespaces": "Namespace", "deployments": "Deployment"}
_DELETED = msgspec.json.encode({"kind": "Status", "apiVersion": "v1", "status": "Success"})


class Target(NamedTuple):
    """A collection, or an object in it, as a path says."""

    api_version: str
    namespace: str
    plural: str
    name: str
    subresource: str

    @staticmethod
    def of(path: str) -> "Target | None":
        found = _PATH.fullmatch(path)
        if found is None:
            return None
        version, *rest = (part or "" for part in found.groups())
        return Target(version.partition("/")[2], *rest)

    @property
    def collection(self) -> str:
        return f"{self.api_version}/{self.plural}"


class Refusal(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class StandIn:
    """One member: its objects by collection, namespace and name, and who watches."""

    def __init__(self) -> None:
        self._version = 0
        self._objects: dict[str, dict[tuple[str, str], Manifest]] = {}
        self._deleted: list[tuple[int, str, str, bytes]] = []
        self._watches: dict[str, set[OpenWatch]] = {}
        self._loop = asyncio.get_running_loop()
        self._fill()

    def _fill(self) -> None:
        """Fills it with what is in an empty cluster."""
        for name in ("kube-system", "default"):
            self._create(Target("v1", "", "namespaces", "", ""), {"metadata": {"name": name}})
        for number in range(NODES):
            size = {"cpu": "1000", "memory": "4000Gi", "pods": "20000"}
            status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
            node = {"metadata": {"name": f"node-{number}"}, "spec": {}, "status": status}
            self._create(Target("v1", "", "nodes", "", ""), node)

    def handle(self, method: str, target: Target, body: bytes) -> tuple[int, bytes]:
        """Raises: Refusal."""
        if method == "GET":
            return 200, msgspec.json.encode(self._object(target)) if target.name else self._list(target)
        content = msgspec.json.decode(body, type=dict[str, Any]) if body else dict[str, Any]()
        match method:
            case "POST":
                return 201, self._create(target, content)
            case "PUT":
                return 200, self._write(target, self._object(target), content)
            case "PATCH":
                known = self._object(target)
                return 200, self._write(target, known, _merged(known, content))
            case "DELETE":
                return 200, self._delete(target, content)
            case _:
                raise Refusal(405, "MethodNotAllowed")

    def copy(self, orders: Orders) -> None:
        """Makes copies of what it has of an application that is to be copied."""
        for collection, objects in self._objects.items():
            version, _, plural = collection.rpartition("/")
            for (namespace, original), obj in list(objects.items()):
                encoded = msgspec.json.encode(obj)
                for name in orders.copies.get(original, ()):
                    made = msgspec.json.decode(Copy(original, name, orders.kept).of(encoded), type=dict[str, Any])
                    self._keep(Target(version, namespace, plural, "", ""), made, "ADDED")

    def _list(self, target: Target) -> bytes:
        found = self._objects.get(target.collection, {})
        items = [each for (namespace, _), each in found.items() if target.namespace in ("", namespace)]
        kind = _KINDS.get(target.plural, "Object") + "List"
        metadata = {"resourceVersion": str(self._version)}
        return msgspec.json.encode(
            {"kind": kind, "apiVersion": target.api_version, "metadata": metadata, "items": items}
        )

    def _object(self, target: Target) -> Manifest:
        found = self._objects.get(target.collection, {}).get((target.namespace, target.name))
        if found is None:
            raise Refusal(404, "NotFound")
        return found

    def _create(self, target: Target, obj: Manifest) -> bytes:
        metadata = obj["metadata"]
        if (target.namespace, metadata["name"]) in self._objects.get(target.collection, {}):
            raise Refusal(409, "AlreadyExists")
        made = {"uid": str(uuid.uuid4()), "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
        if target.namespace:
            made["namespace"] = target.namespace
        return self._keep(target, {**obj, "metadata": {**metadata, **made}}, "ADDED")

    def _write(self, target: Target, known: Manifest, new: Manifest) -> bytes:
        """Writing the status is as writing the object: nobody else writes it here."""
        before, metadata = known["metadata"], new["metadata"]
        if metadata.get("resourceVersion", before["resourceVersion"]) != before["resourceVersion"]:
            raise Refusal(409, "Conflict")
        kept = {name: before[name] for name in ("uid", "creationTimestamp")}
        generation = before["generation"] + (known.get("spec") != new.get("spec"))
        return self._keep(target, {**new, "metadata": {**metadata, **kept, "generation": generation}}, "MODIFIED")

    def _delete(self, target: Target, options: Manifest) -> bytes:
        known = self._object(target)
        asked: Manifest = options.get("preconditions") or {}
        if any(known["metadata"].get(name) != value for name, value in asked.items()):
            raise Refusal(409, "Conflict")
        del self._objects[target.collection][_key(known)]
        self._tell(target.collection, "DELETED", self._versioned(known))
        return _DELETED

    def _keep(self, target: Target, obj: Manifest, event: str) -> bytes:
        obj = self._versioned({"apiVersion": target.api_version, "kind": _KINDS.get(target.plural, "Object"), **obj})
        self._objects.setdefault(target.collection, {})[_key(obj)] = obj
        if target.plural == "deployments" and obj.get("status", {}).get("observedGeneration") != _generation(obj):
            self._loop.call_later(READY_SECONDS, self._become_ready, target, _key(obj))
        return self._tell(target.collection, event, obj)

    def _become_ready(self, target: Target, key: tuple[str, str]) -> None:
        obj = self._objects.get(target.collection, {}).get(key)
        if obj is not None and obj.get("status", {}).get("observedGeneration") != _generation(obj):
            replicas = obj["spec"].get("replicas", 1)
            counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), replicas)
            status = {"observedGeneration": _generation(obj), **counts}
            self._keep(target, {**obj, "status": status}, "MODIFIED")

    def _versioned(self, obj: Manifest) -> Manifest:
        self._version += 1
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}

    def _tell(self, collection: str, event: str, obj: Manifest) -> bytes:
        """Tells all who watch. Returns the object's bytes."""
        encoded = msgspec.json.encode(obj)
        namespace = obj["metadata"].get("namespace", "")
        line = b'{"type":"%b","object":%b}\n' % (event.encode(), encoded)
        if event == "DELETED":
            self._deleted.append((self._version, collection, namespace, line))
            del self._deleted[:-MOST_DELETIONS]
        for watch in tuple(self._watches.get(collection, ())):
            if watch.namespace in ("", namespace):
                watch.send(line)
        return encoded

    def watch(self, target: Target, since: int, watch: "OpenWatch") -> None:
        """Tells what has changed since, and goes on until the watch is closed."""
        told: list[tuple[int, bytes]] = []
        for (namespace, _), obj in self._objects.get(target.collection, {}).items():
            version = int(obj["metadata"]["resourceVersion"])
            if version > since and target.namespace in ("", namespace):
                told.append((version, b'{"type":"MODIFIED","object":%b}\n' % msgspec.json.encode(obj)))
        for version, collection, namespace, line in self._deleted:
            if version > since and collection == target.collection and target.namespace in ("", namespace):
                told.append((version, line))
        for _, line in sorted(told):
            watch.send(line)
        watches = self._watches.setdefault(target.collection, set())
        watches.add(watch)
        watch.on_close = lambda: watches.discard(watch)

    def bookmark(self) -> bytes:
        return b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}\n' % self._version


class OpenWatch:
    """An open watch; it ends with its connection, or when its time is over."""

    def __init__(self, member: StandIn, write: Callable[[bytes], None], namespace: str, seconds: float) -> None:
        self.namespace = namespace
        self.on_close: Callable[[], None] = lambda: None
        self._member = member
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._timers = [self._loop.call_later(seconds, self.end), self._loop.call_later(BOOKMARK_SECONDS, self._mark)]

    def send(self, line: bytes) -> None:
        self._write(b"%x\r\n%b\r\n" % (len(line), line))

    def end(self) -> None:
        self.close()
        self._write(b"0\r\n\r\n")

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self.on_close()

    def _mark(self) -> None:
        self.send(self._member.bookmark())
        self._timers[1] = self._loop.call_later(BOOKMARK_SECONDS, self._mark)


def _key(obj: Manifest) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _generation(obj: Manifest) -> int:
    return obj["metadata"]["generation"]


def _merged(known: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged: Manifest = dict(cast(Manifest, known)) if isinstance(known, dict) else {}
    for name, value in cast(Manifest, patch).items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
