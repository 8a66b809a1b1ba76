"""Absurd numbers of replicas in a local member: it makes a bounded number of Pods at once, and then goes on.

    has            the right to write workloads
    does           asks for millions of replicas
    must not get   a member that makes them in one piece of work, and takes the memory of the machine

Holds: L4.
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, cast
from unittest import mock

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubecluster import resource_quota
from kubecluster.kinds import DEPLOYMENTS, JOBS, PODS, REPLICA_SETS, RESOURCE_QUOTAS, STATEFUL_SETS
from kubecluster.platform import Platform
from kubecluster.pod_sources import create_pods
from kubecluster.rules import stateful_set
from kubecluster.rules.claim_templates import surplus_claims
from kubecluster.rules.pods import MOST_AT_ONCE
from kubecluster.rules.quota_usage import pod_use
from tests.kubecluster.cluster.simulated_cluster import Cluster, pod_template, tell, workload

ABSURD = 2_000_000
"""More would take the memory of the machine where the test fails."""
MORE = MOST_AT_ONCE + 20
WORKLOADS: list[tuple[Resource[Manifest], Mapping[str, Any]]] = [
    (REPLICA_SETS, {"replicas": MORE}),
    (STATEFUL_SETS, {"replicas": MORE, "podManagementPolicy": "Parallel"}),
    (JOBS, {"parallelism": MORE, "completions": MORE, "selector": None}),
]


class Counting:
    """A platform that takes every object and counts them."""

    def __init__(self) -> None:
        self.created = 0

    async def create(self, resource: Resource[Manifest], manifest: Manifest) -> None:
        del resource, manifest
        self.created += 1


def absurd_set(**fields: Any) -> Manifest:
    return workload("StatefulSet", replicas=ABSURD, podManagementPolicy="Parallel", **fields)


def test_l4_of_pods_without_end_a_part_is_created_at_once() -> None:
    def pods() -> Iterator[Manifest]:
        for number in count():
            assert number < 10 * MOST_AT_ONCE, "they are made before they are counted"
            yield {}

    platform = Counting()
    run_virtual(create_pods(cast("Platform", platform), REPLICA_SETS, {}, pods()))
    assert platform.created == MOST_AT_ONCE


@pytest.mark.parametrize(("resource", "fields"), WORKLOADS, ids=lambda each: getattr(each, "kind", ""))
def test_the_other_parts_come_after_the_first(resource: Resource[Manifest], fields: Mapping[str, Any]) -> None:
    async def story(cluster: Cluster) -> None:
        template = pod_template(restartPolicy="Never" if resource is JOBS else "Always")
        await cluster.create(resource, workload(resource.kind, template, **fields))
        await asyncio.sleep(20)
        assert len(await cluster.objects(PODS)) == MORE

    tell(story)


def test_l4_the_admission_of_a_quota_reads_each_pod_once() -> None:
    """Admission read every Pod of the namespace for each new one."""
    count = 60

    async def story(cluster: Cluster) -> None:
        quota = {"metadata": {"name": "some"}, "spec": {"hard": {"pods": "1000"}}}
        await cluster.create(RESOURCE_QUOTAS, quota)
        await asyncio.sleep(5)
        with mock.patch.object(resource_quota, "pod_use", wraps=pod_use) as read:
            await cluster.create(DEPLOYMENTS, workload("Deployment", pod_template(), replicas=count))
            await asyncio.sleep(20)
        assert await cluster.ready_pods() == count
        assert read.call_count < 10 * count, "as often as they changed meanwhile"

    tell(story)


def test_l4_the_ordinals_of_an_absurd_number_are_not_gone_through() -> None:
    now, made = datetime(2026, 1, 1, tzinfo=UTC), absurd_set()
    assert stateful_set.decide_steps(made, [], now).create == tuple(range(MOST_AT_ONCE))
    policy = {"whenScaled": "Delete"}
    claims = [{"metadata": {"name": f"data-web-{ordinal}"}} for ordinal in (7, ABSURD, ABSURD + 1)]
    kept = absurd_set(
        persistentVolumeClaimRetentionPolicy=policy, volumeClaimTemplates=[{"metadata": {"name": "data"}}]
    )
    wanted = stateful_set.wanted_ordinals(kept)
    assert surplus_claims(kept, wanted, [ABSURD], claims) == claims[2:]
