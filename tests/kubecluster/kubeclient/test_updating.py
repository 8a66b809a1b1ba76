"""Merge patches of who may update and not patch."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.transport import Request, Response
from kubeclient import Client, Conflict, Forbidden, NotFound
from kubeclient.updating import ATTEMPTS, REMEMBERED_SECONDS, UpdatingTransport, _parts  # pyright: ignore[reportPrivateUsage]

CLUSTERS = Resource.of_manifests("cluster.karmada.io/v1alpha1", "clusters", "Cluster", False)
LEASES = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)


class OneObject:
    """A server with one object, which refuses some methods; after a read somebody else writes, `rivals` times."""

    def __init__(self, *refused: str, rivals: int = 0) -> None:
        self.refused = set(refused)
        self.rivals = rivals
        self.asked: list[tuple[str, str]] = []
        self.object: Manifest = {"metadata": {"name": "m1", "resourceVersion": "1"}, "spec": {"a": 1, "b": 2}}

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        assert timeout_seconds > 0
        self.asked.append((request.method, request.path))
        if request.method in self.refused:
            return _response(403, {"reason": "Forbidden"})
        if request.method == "GET":
            answer = _response(200, self.object)
            if self.rivals:
                self.rivals -= 1
                self._write({"spec": {**self.object["spec"], "rival": self.rivals}})
            return answer
        given: Any = json.loads(request.body)
        if request.method == "PATCH":
            self._write({"spec": {**self.object["spec"], **given["spec"]}})
            return _response(200, self.object)
        if given["metadata"]["resourceVersion"] != self.object["metadata"]["resourceVersion"]:
            return _response(409, {"reason": "Conflict"})
        self._write(given)
        return _response(200, self.object)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("nothing is watched")

    async def close(self) -> None:
        return

    def _write(self, given: Manifest) -> None:
        version = int(self.object["metadata"]["resourceVersion"]) + 1
        self.object = {**self.object, **given, "metadata": {"name": "m1", "resourceVersion": str(version)}}

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]


def _response(code: int, body: Manifest) -> Response:
    kind = {"kind": "Status", "status": "Failure", "code": code} if code >= 300 else {}
    return Response(code, json.dumps({**kind, **body}).encode())


PATCH: Manifest = {"spec": {"a": None, "c": 3}}


def test_who_may_patch_patches() -> None:
    async def main() -> None:
        server = OneObject()
        await Client(UpdatingTransport(server)).patch(CLUSTERS, "m1", {"spec": {"c": 3}})
        assert server.methods == ["PATCH"]

    run_virtual(main())


def test_a_forbidden_patch_becomes_an_update_of_what_is_there() -> None:
    async def main() -> None:
        server = OneObject("PATCH")
        client = Client(UpdatingTransport(server))
        await client.patch(CLUSTERS, "m1", PATCH, subresource="status")
        path = "/apis/cluster.karmada.io/v1alpha1/clusters/m1"
        assert server.asked == [("PATCH", f"{path}/status"), ("GET", path), ("PUT", f"{path}/status")]
        assert server.object["spec"] == {"b": 2, "c": 3}

    run_virtual(main())


def test_what_others_write_meanwhile_is_kept() -> None:
    async def main() -> None:
        server = OneObject("PATCH", rivals=2)
        await Client(UpdatingTransport(server)).patch(CLUSTERS, "m1", PATCH)
        assert server.object["spec"] == {"b": 2, "c": 3, "rival": 0}
        server = OneObject("PATCH", rivals=ATTEMPTS)
        with pytest.raises(Conflict):
            await Client(UpdatingTransport(server)).patch(CLUSTERS, "m1", PATCH)

    run_virtual(main())


def test_a_patch_of_one_version_conflicts_with_another() -> None:
    async def main() -> None:
        server = OneObject("PATCH")
        client = Client(UpdatingTransport(server))
        with pytest.raises(Conflict):
            await client.patch(CLUSTERS, "m1", PATCH, resource_version="7")
        assert server.methods == ["PATCH", "GET", "PUT"]
        await client.patch(CLUSTERS, "m1", PATCH, resource_version="1")
        assert server.object["spec"] == {"b": 2, "c": 3}

    run_virtual(main())


def test_a_refusal_is_remembered_for_the_kind_and_asked_again_after_a_while() -> None:
    async def main() -> None:
        server = OneObject("PATCH")
        client = Client(UpdatingTransport(server))
        await client.patch(CLUSTERS, "m1", PATCH)
        server.asked.clear()
        await client.patch(CLUSTERS, "m2", PATCH)
        assert server.methods == ["GET", "PUT"]
        server.asked.clear()
        await client.patch(LEASES, "m1", PATCH, "karmada-cluster")
        assert server.methods == ["PATCH", "GET", "PUT"], "of another kind it is not known"
        server.refused.clear()
        server.asked.clear()
        await asyncio.sleep(REMEMBERED_SECONDS)
        await client.patch(CLUSTERS, "m1", {"spec": {"c": 4}})
        assert server.methods == ["PATCH"]

    run_virtual(main())


@pytest.mark.parametrize("refused", [("PATCH", "GET"), ("PATCH", "PUT")])
def test_who_may_do_neither_is_refused_and_asks_anew(refused: tuple[str, str]) -> None:
    async def main() -> None:
        server = OneObject(*refused)
        client = Client(UpdatingTransport(server))
        for _ in range(2):
            server.asked.clear()
            with pytest.raises(Forbidden):
                await client.patch(CLUSTERS, "m1", PATCH)
            assert server.methods[0] == "PATCH"

    run_virtual(main())


def test_what_is_not_there_is_not_there() -> None:
    async def main() -> None:
        class Empty(OneObject):
            async def send(self, request: Request, *, timeout_seconds: float) -> Response:
                if request.method == "GET":
                    return _response(404, {"reason": "NotFound", "details": {"name": "m1"}})
                return await super().send(request, timeout_seconds=timeout_seconds)

        with pytest.raises(NotFound):
            await Client(UpdatingTransport(Empty("PATCH"))).patch(CLUSTERS, "m1", PATCH)

    run_virtual(main())


@pytest.mark.parametrize(
    ("path", "object_path", "subresource"),
    [
        ("/api/v1/namespaces/a", "/api/v1/namespaces/a", ""),
        ("/api/v1/namespaces/a/status", "/api/v1/namespaces/a", "status"),
        ("/api/v1/namespaces/a/secrets/b", "/api/v1/namespaces/a/secrets/b", ""),
        ("/apis/g/v1/namespaces/a/works/b/status", "/apis/g/v1/namespaces/a/works/b", "status"),
        ("/apis/g/v1/clusters/b/status", "/apis/g/v1/clusters/b", "status"),
    ],
)
def test_the_object_of_a_path(path: str, object_path: str, subresource: str) -> None:
    found, target = _parts(path)
    assert (found, target[1]) == (object_path, subresource)
    assert target[0] == object_path.rpartition("/")[0]
