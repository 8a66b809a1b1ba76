"""A decision that would break an invariant is not written: the binding stays as it is, says so, and recovers."""

import asyncio
from dataclasses import replace
from unittest import mock

import pytest

from leeward.api.meta import find_condition
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding
from leeward.core.placement import Decision, Snapshot, decide
from leeward.planning import group_decisions
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, in_world, policy


def one_too_many(snapshot: Snapshot, _: object) -> Decision:
    """Everything that changes gets a replica that nobody asked for."""
    decision = decide(snapshot)
    if decision.clusters == snapshot.binding.spec.clusters:
        return decision
    first, *others = decision.clusters
    more = type(first)(first.name, first.replicas + 1)
    return replace(decision, clusters=(more, *others))


async def binding_of(world: World) -> ResourceBinding:
    return await world.client.get(RESOURCE_BINDINGS, "web-deployment", "default")


@in_world()
async def test_s3_a_decision_that_does_not_add_up_is_refused(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with mock.patch.object(group_decisions, "decide", one_too_many):
        await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
        await asyncio.sleep(30)
        bound = await binding_of(world)
    assert bound.spec.clusters == ()
    scheduled = find_condition(bound.status.conditions, "Scheduled")
    assert scheduled is not None
    assert "S3: 4 replicas are assigned, 3 are asked for" in scheduled.message
    assert '"kind": "PlacementSnapshot"' in caplog.text
    await asyncio.sleep(120)
    assert sum(target.replicas for target in (await binding_of(world)).spec.clusters) == 3
