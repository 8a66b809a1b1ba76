"""D10: what was accepted can be read, listed, patched and deleted. Tried at the end of a history, on one object of each
resource, without an effect. That it can be watched is seen all the time (D5).
"""

import json
import random
from collections.abc import Iterator

from msgspec import structs

from kubeclient import Request, Response
from kubeserver.handler import Handler, StreamResponse
from kubeserver.inprocess import ADMIN
from kubeserver.store import Record
from simulator.paths import resource_of

GROUP_API, CORE_API = "/apis", "/api"
DRY = {"dryRun": "All"}
PATCH = Request("PATCH", "", DRY, {"content-type": "application/merge-patch+json"}, b"{}")
IMMORTAL = ("//namespaces//default", "//namespaces//kube-public", "//namespaces//kube-system")
"""Namespaces that no API server deletes."""
TOUCH = json.dumps({"metadata": {"annotations": {"example.com/touched": "true"}}}).encode()


async def unhandled(server: Handler, records: list[Record], seed: int) -> list[str]:
    """Finds objects with which something cannot be done, and what is answered."""
    problems: list[str] = []
    for record in _one_of_each(records, seed):
        for request in _requests(record):
            answer = await server.handle(request, ADMIN)
            problem = _problem(request, record, answer)
            if problem:
                problems.append(f"{request.method} {request.path} {dict(request.query)}: {problem}")
    return problems


def _one_of_each(records: list[Record], seed: int) -> Iterator[Record]:
    draw = random.Random(f"handling {seed}")
    by_resource: dict[str, list[Record]] = {}
    for record in records:
        by_resource.setdefault(resource_of(record.key), []).append(record)
    for found in by_resource.values():
        yield draw.choice(found)


def _requests(record: Record) -> Iterator[Request]:
    path = _path(record)
    yield Request("GET", path)
    yield Request("GET", path.rpartition("/")[0], {"limit": "500"})
    yield structs.replace(PATCH, path=path, body=TOUCH)
    if record.key not in IMMORTAL:
        yield Request("DELETE", path, DRY)


def _path(record: Record) -> str:
    version = json.loads(record.value)["apiVersion"]
    _, _, plural, namespace, name = record.key.split("/", 4)
    root = f"{GROUP_API if '/' in version else CORE_API}/{version}"
    return f"{root}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{root}/{plural}/{name}"


def _problem(request: Request, record: Record, answer: Response | StreamResponse) -> str:
    if not isinstance(answer, Response):
        return "is answered with a stream"
    body = json.loads(answer.body)
    if answer.code not in (200, 202):
        return f"{answer.code} {body.get('message')}"
    uid = json.loads(record.value)["metadata"].get("uid")
    if "items" in body:
        there = any(item["metadata"].get("uid") == uid for item in body["items"])
        return "" if there or body["metadata"].get("continue") else "is not in its list"
    return "" if request.method != "GET" or body["metadata"].get("uid") == uid else "is another object"
