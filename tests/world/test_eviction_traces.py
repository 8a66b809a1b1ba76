"""Evictions as traces of OpenTelemetry, read by the in-memory exporter of its SDK."""

from datetime import UTC, datetime

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from leeward.api.outage import OutageStatus
from leeward.api.resource import OUTAGES
from leeward.app.flags.settings import settings_of
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import apply, deployment, play, policy

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
PRIMARY = {
    "clusterAffinities": [
        {"affinityName": "primary", "clusterNames": ["member1"]},
        {"affinityName": "backup", "clusterNames": ["member2"]},
    ]
}
EXPORTED = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def provider() -> None:
    """A process has one provider, and whoever runs Leeward may set it: the product sends to that."""
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(EXPORTED))
    trace.set_tracer_provider(made)


def manager(traces: str) -> ManagerSettings:
    """Settings of a control plane that has exported nothing yet."""
    EXPORTED.clear()
    return settings_of("up", {"trace-evictions": traces}).manager


async def lose_a_cluster(world: World) -> OutageStatus:
    """The status of the outage of member1, once its application is healthy in member2."""
    await apply(world.client, deployment("web", 2), policy("web", PRIMARY))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
    await world.sleep(30)
    world.members["member1"].crash_apiserver()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 2}, 900)
    await world.sleep(120)
    [outage] = (await world.client.list(OUTAGES)).items
    return outage.status


def instant(nanoseconds: int | None) -> datetime:
    assert nanoseconds is not None
    return datetime.fromtimestamp(nanoseconds / 1_000_000_000, UTC)


def context_of(span: ReadableSpan) -> trace.SpanContext:
    assert span.context is not None
    return span.context


def test_an_eviction_is_one_trace_with_its_five_steps() -> None:
    told: list[OutageStatus] = []

    async def story(world: World) -> None:
        told.append(await lose_a_cluster(world))

    play(story, TWO, manager=manager("true"))
    [status] = told
    [application] = status.listed
    spans = EXPORTED.get_finished_spans()
    by_name: dict[str, ReadableSpan] = {span.name: span for span in spans}
    assert [span.name for span in spans] == ["probe", "taint", "decision", "work", "healthy", "eviction"]
    root = by_name.pop("eviction")
    assert root.parent is None
    assert {span.parent and span.parent.span_id for span in by_name.values()} == {context_of(root).span_id}
    assert {context_of(span).trace_id for span in spans} == {context_of(root).trace_id}
    assert dict(root.attributes or {}) == {
        "leeward.cluster": "member1",
        "k8s.kind": "Deployment",
        "k8s.name": "web",
        "k8s.namespace.name": "default",
    }
    assert (instant(root.start_time), instant(root.end_time)) == (status.failed_at, application.healthy_at)
    ends = {name: instant(span.end_time) for name, span in by_name.items()}
    assert ends["probe"] == status.not_ready_at
    assert ends["taint"] == status.no_execute_at
    assert ends["decision"] == application.left_at
    assert ends["healthy"] == application.healthy_at
    assert (by_name["work"].attributes or {})["leeward.cluster"] == "member2"
    assert all((span.start_time or 0) <= (span.end_time or 0) for span in spans)


def test_nothing_is_traced_where_nobody_asks() -> None:
    async def story(world: World) -> None:
        assert (await lose_a_cluster(world)).listed

    play(story, TWO, manager=manager("false"))
    assert EXPORTED.get_finished_spans() == ()


def test_each_eviction_is_a_trace_of_its_own() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("other", 2), policy("other", PRIMARY))
        await lose_a_cluster(world)

    play(story, TWO, manager=manager("true"))
    roots = [span for span in EXPORTED.get_finished_spans() if span.name == "eviction"]
    assert sorted(str((root.attributes or {})["k8s.name"]) for root in roots) == ["other", "web"]
    assert len({context_of(root).trace_id for root in roots}) == 2
