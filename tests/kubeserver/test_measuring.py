"""The metrics of an API server, under the names that kube-apiserver gives them."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

from prometheus_client import CollectorRegistry

from kubeapi import codec
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.transport import Request, Response
from kubeserver.handler import Handler, StreamResponse, User
from kubeserver.handlers.chain import handler_chain
from tests.kubeserver.api_world import CONFIG_MAPS, ApiWorld, config_map, tell

PAGE = Path(__file__).parents[2] / "docs" / "observability.md"
ADMIN = User("root", ("system:masters",))
HEADERS = {"accept": "application/json", "content-type": "application/json"}
OF_CONFIG_MAPS = {"group": "", "version": "v1", "resource": "configmaps", "subresource": "", "component": "apiserver"}


def measured(world: ApiWorld) -> tuple[Handler, CollectorRegistry]:
    registry = CollectorRegistry()
    return handler_chain(world.server, VirtualClock(), Randomness(1), registry), registry


async def ask(handler: Handler, method: str, path: str, body: Any = None, **query: str) -> Response | StreamResponse:
    data = b"" if body is None else codec.encode(body)
    return await handler.handle(Request(method, path, query, HEADERS, data), ADMIN)


def total(registry: CollectorRegistry, verb: str, scope: str, code: int, dry_run: str = "") -> float | None:
    labels = {**OF_CONFIG_MAPS, "verb": verb, "scope": scope, "dry_run": dry_run}
    return registry.get_sample_value("apiserver_request_total", {**labels, "code": str(code)})


def test_requests_are_counted_by_what_they_asked_for_and_how_they_ended():
    async def story(world: ApiWorld) -> None:
        handler, registry = measured(world)
        await ask(handler, "POST", CONFIG_MAPS, config_map("a"))
        await ask(handler, "POST", CONFIG_MAPS, config_map("a"))
        await ask(handler, "POST", CONFIG_MAPS, config_map("b"), dryRun="All")
        for _ in range(3):
            await ask(handler, "GET", CONFIG_MAPS)
        await ask(handler, "GET", "/api/v1/configmaps")
        await ask(handler, "GET", f"{CONFIG_MAPS}/nobody")
        assert total(registry, "POST", "resource", 201) == 1
        assert total(registry, "POST", "resource", 409) == 1
        assert total(registry, "POST", "resource", 201, "All") == 1
        assert total(registry, "LIST", "namespace", 200) == 3
        assert total(registry, "LIST", "cluster", 200) == 1
        assert total(registry, "GET", "resource", 404) == 1
        timed = {**OF_CONFIG_MAPS, "verb": "LIST", "scope": "namespace", "dry_run": ""}
        assert registry.get_sample_value("apiserver_request_duration_seconds_count", timed) == 3

    tell(story)


def test_names_that_a_client_makes_up_are_no_labels():
    async def story(world: ApiWorld) -> None:
        handler, registry = measured(world)
        for number in range(5):
            await ask(handler, "GET", f"/apis/made{number}.up/v1/things")
            await ask(handler, f"VERB{number}", f"{CONFIG_MAPS}/a")
            await ask(handler, "GET", f"/api/v1/namespaces/default/pods/a/made{number}")
        (family,) = [family for family in registry.collect() if family.name == "apiserver_request"]
        counted = [sample for sample in family.samples if sample.name == "apiserver_request_total"]
        assert {(sample.labels["verb"], sample.labels["resource"], sample.value) for sample in counted} == {
            ("LIST", "", 5),
            ("OTHER", "configmaps", 5),
            ("GET", "", 5),
        }

    tell(story)


def test_a_watch_counts_as_long_as_it_is_open():
    async def story(world: ApiWorld) -> None:
        handler, registry = measured(world)
        labels = {**OF_CONFIG_MAPS, "verb": "WATCH", "scope": "namespace"}

        def is_open() -> float | None:
            return registry.get_sample_value("apiserver_longrunning_requests", labels)

        first, second = [await ask(handler, "GET", CONFIG_MAPS, watch="true") for _ in range(2)]
        assert isinstance(first, StreamResponse)
        assert is_open() == 2
        await cast(AsyncGenerator[bytes, None], first.lines).aclose()
        assert is_open() == 1
        del second
        assert is_open() == 0
        assert total(registry, "WATCH", "namespace", 200) == 2

    tell(story)


def test_stored_objects_are_counted_by_kind():
    async def story(world: ApiWorld) -> None:
        _, registry = measured(world)
        for name in ("a", "b", "c"):
            await world.create(CONFIG_MAPS, config_map(name))
        await world.delete(f"{CONFIG_MAPS}/c")

        def stored(resource: str) -> float | None:
            return registry.get_sample_value("apiserver_storage_objects", {"resource": resource})

        assert stored("configmaps") == 2
        assert stored("namespaces") == 4
        assert stored("clusterroles.rbac.authorization.k8s.io") is not None

    tell(story)


def test_what_is_measured_is_documented():
    async def story(world: ApiWorld) -> None:
        _, registry = measured(world)
        families = [family for family in registry.collect() if not family.name.startswith("process_")]
        rows = [line.split("|")[1].strip(" `") for line in PAGE.read_text().splitlines() if line.startswith("| `apis")]
        assert {f"{f.name}_total" if f.type == "counter" else f.name for f in families} == set(rows)

    tell(story)
