"""Metrics that are measured are documented, and those that are documented are measured."""

import asyncio
import re
from pathlib import Path

from controller_runtime.leader import Leadership
from kubeapi.connections import Incoming, connections_of_process
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from leeward.api.names import MANAGER_LEASE
from leeward.api.outage import OutageStatus
from leeward.runtime.metrics import EVICTION_QUEUE, Metrics

PAGE = Path(__file__).parents[3] / "docs" / "observability.md"


def test_the_table_of_metrics_is_the_code() -> None:
    table = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    metrics = table[: table.index(next(row for row in table if "controller_runtime_reconcile_time" in row)) + 1]
    documented = {name for row in metrics for name in re.findall(r"`(\w+)`", row)}
    measured = {
        f"{family.name}_total" if family.type == "counter" else family.name for family in Metrics().registry.collect()
    }
    assert documented == measured


def test_who_leads_no_more_says_nothing_of_clusters_and_bindings() -> None:
    metrics = Metrics()
    families = list(metrics.registry.collect())
    by_name = {each.name: each.type for each in families}
    metrics.brake_engaged.set(1)
    metrics.resilience.held_evictions.labels("NoPlaceToGo").set(2)
    metrics.resilience.held_replacements.labels("GateOverdue").set(1)
    metrics.resilience.loss_replicas.labels("member1").set(4)
    metrics.resilience.loss_applications.labels("member1").set(1)
    metrics.outages.counted("member1", OutageStatus(moved=3))
    metrics.eviction_queue.labels(EVICTION_QUEUE).set(5)
    metrics.amount("member1", "cpu", "allocated", 4)
    for gauge in (metrics.cluster_ready, metrics.cluster_uncollected, metrics.cluster_nodes):
        gauge.labels("member1").set(1)
    metrics.reconciled("brake-controller", "success", 0.1)
    metrics.forget_state()
    told = {
        sample.name: sample.value
        for family in metrics.registry.collect()
        if by_name[family.name] == "gauge"
        for sample in family.samples
    }
    of_process = {name: told.pop(name) for name in list(told) if name.startswith("leeward_incoming_connections")}
    assert of_process.keys() == {"leeward_incoming_connections", "leeward_incoming_connections_limit"}
    assert told == {"leeward_brake_engaged": 0, "leeward_shards": 0}
    assert b'controller_runtime_reconcile_total{controller="brake-controller",result="success"} 1.0' in metrics.render()


def test_a_leader_says_how_many_shards_it_leaves_work_to_as_it_is_now() -> None:
    metrics, shards = Metrics(), [0, 4]
    metrics.process.leaves_work_to(lambda: shards.pop())
    assert [metrics.registry.get_sample_value("leeward_shards") for _ in range(2)] == [4, 0]


def test_connections_are_told_as_they_are_now() -> None:
    connections = connections_of_process()

    def told(name: str) -> float | None:
        return Metrics().registry.get_sample_value(f"leeward_incoming_connections{name}")

    before = told("") or 0.0
    incoming = Incoming("192.0.2.1", lambda: None)
    assert connections.enter(incoming)
    assert (told(""), told("_limit")) == (before + 1, connections.most)
    connections.leave(incoming)
    assert (told(""), told("_closed_total")) == (before, connections.closed)


def test_s8_a_process_whose_lease_has_ended_is_not_told_to_lead() -> None:
    async def story() -> list[float | None]:
        metrics, leadership = Metrics(), Leadership(VirtualClock())
        metrics.process.leads(MANAGER_LEASE, lambda: leadership.holds)

        def told() -> float | None:
            return metrics.registry.get_sample_value("leader_election_master_status", {"name": MANAGER_LEASE})

        waiting = told()
        leadership.extend(15)
        leading = told()
        await asyncio.sleep(15)
        return [waiting, leading, told()]

    assert run_virtual(story()) == [0, 1, 0]
