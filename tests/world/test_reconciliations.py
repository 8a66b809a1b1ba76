"""Reconciliations of each controller for one application: what follows from its own writes is looked at no more.

Members are whole clusters here: a Deployment there gets a revision from its own controller, and reports as its Pods
start; each of that is looked at.
"""

from collections import Counter
from unittest import mock

import pytest

from kubeapi.loop.virtual import run_virtual
from leeward.controllers.binding import binding_reports
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.world.stories import apply, deployment, policy

ON_TWO = {
    "clusterTolerations": [
        {"key": f"cluster.karmada.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
        for key in ("not-ready", "unreachable")
    ],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
}


def reconciled(world: World) -> Counter[str]:
    counted = Counter[str]()
    for family in world.metrics.registry.collect():
        for sample in family.samples:
            if sample.name == "controller_runtime_reconcile_total":
                counted[sample.labels["controller"].partition("/")[0]] += int(sample.value)
    return counted


@pytest.mark.parametrize(("applications", "looks", "most"), [(8, 5, 8), (24, 4, 5)])
def test_an_application_is_looked_at_as_often_as_something_of_it_changes(
    applications: int, looks: int, most: int
) -> None:
    """Nothing tells in a burst, as of the 24, that a copy starts."""

    async def story() -> None:
        async with World(dict.fromkeys(("member1", "member2", "member3"), "Push"), Timing.karmada()) as world:
            await world.until(lambda: all(world.is_ready(name) for name in world.members), 60)
            every = policy("web", ON_TWO)
            every["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
            await apply(world.client, every)
            await world.sleep(30)
            before = reconciled(world)
            for number in range(applications):
                await apply(world.client, deployment(f"web{number}", 2))
            await world.sleep(50)
            told = reconciled(world) - before
            assert told["resource-detector"] == applications
            assert told["scheduler"] == applications, "a place that is written as decided is looked at no more"
            assert told["execution-controller"] <= 2 * 2 * applications
            assert told["work-status-controller"] <= 9 * applications
            assert told["binding-controller"] <= 4 * applications
            before = reconciled(world)
            await world.sleep(200)
            told = reconciled(world) - before
            assert not told["binding-controller"], "conditions that are told already need no turn of their own"
            moved = [n for n in range(applications) if "member1" in world.assigned(f"web{n}-deployment")]
            before = reconciled(world)
            with mock.patch.object(binding_reports, "aggregate_status", wraps=binding_reports.aggregate_status) as sums:
                await world.member("member1").stop()
                await world.sleep(600)
            assert sums.call_count <= most * len(moved), "a template's status is added up for a look, and for its write"
            assert not [n for n in moved if "member1" in world.assigned(f"web{n}-deployment")]
            told = reconciled(world) - before
            assert told["resource-detector"] == 0, "only where it goes has changed, which is the scheduler's"
            assert told["binding-controller"] <= looks * len(moved), (
                "it is lost, it moves, its copy starts and is well elsewhere, it has moved: own writes need no look"
            )
            assert told["scheduler"] <= 4 * len(moved), (
                "it is lost, which those that stay are told, too; it moves; it has moved; and once if that takes long"
            )

    run_virtual(story())
