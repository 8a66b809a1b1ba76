"""Planted bugs: the simulator must find each of them. They replace one function of the product, in tests only.

with planted("drop a finalizer"):
    ...
"""

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast
from unittest import mock

from controller_runtime.informer import Informer
from kubeapi.codec import to_wire
from kubeapi.meta import Manifest
from kubeclient import Client, Conflict
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.api.work import Work
from leeward.controllers.binding import work_rendering
from leeward.controllers.scheduler import scheduling_cycle
from leeward.core.copies import disruption
from leeward.core.copies.availability import Availability, availability
from leeward.core.copies.evidence import is_fresh
from leeward.core.execution.works import build_works
from leeward.core.placement import Decision, Snapshot, decide
from leeward.core.placement.check import Violation
from leeward.core.scheduling import Trace
from leeward.manager import member_side
from leeward.planning import group_decisions

ATTEMPTS = 4


def nothing_wrong(_: Snapshot, __: Decision) -> tuple[Violation, ...]:
    """Check in the place of the check of decisions, which would refuse what is planted before a checker sees it."""
    return ()


@contextmanager
def _decided_by(decide: Callable[[Snapshot], Decision]) -> Generator[None]:
    """Another decision, also of whoever takes it again on what was recorded; and nobody checks it."""

    def without_trace(snapshot: Snapshot, _: Trace | None = None) -> Decision:
        return decide(snapshot)

    with (
        mock.patch.object(group_decisions, "decide", without_trace),
        mock.patch.object(scheduling_cycle, "check", nothing_wrong),
    ):
        yield


def _evict_twice() -> Any:
    """Every cluster that is left opens a second task."""

    def decide_twice(snapshot: Snapshot) -> Decision:
        decision = decide(snapshot)
        known = {task.from_cluster for task in snapshot.binding.spec.graceful_eviction_tasks}
        again = tuple(task for task in decision.eviction_tasks if task.from_cluster not in known)
        return replace(decision, eviction_tasks=(*decision.eviction_tasks, *again))

    return _decided_by(decide_twice)


def _forget_to_evict() -> Any:
    """Copies that would have to leave a cluster stay, and nothing says so."""

    def decide_to_stay(snapshot: Snapshot) -> Decision:
        decision = decide(snapshot)
        if not decision.evicted:
            return decision
        spec = snapshot.binding.spec
        return replace(
            decision, clusters=spec.clusters, eviction_tasks=spec.graceful_eviction_tasks, evicted=(), held=None
        )

    return _decided_by(decide_to_stay)


def _drop_a_finalizer() -> Any:
    """Works are made without the finalizer that cleans up after them."""

    def without(*arguments: Any, **more: Any) -> dict[str, Manifest]:
        built = build_works(*arguments, **more)
        for manifest in built.values():
            manifest["metadata"].pop("finalizers", None)
        return built

    return mock.patch.object(work_rendering, "build_works", without)


def _act_on_a_stale_cache() -> Any:
    """Patches name no version: what is decided on an old state overwrites a newer one."""
    patch = Client.patch

    async def blindly(self: Client, *arguments: Any, **more: Any) -> Any:
        more.pop("resource_version", None)
        return await patch(self, *arguments, **more)

    return mock.patch.object(Client, "patch", blindly)


def _repeat_after_a_conflict() -> Any:
    """A patch that was refused with 409 is repeated as it is, with the version that is there now."""
    patch = Client.patch

    async def stubbornly(
        self: Client,
        resource: Any,
        name: str,
        change: Any,
        namespace: str = "",
        *,
        resource_version: str = "",
        **more: Any,
    ) -> Any:
        for _ in range(ATTEMPTS):
            try:
                return await patch(self, resource, name, change, namespace, resource_version=resource_version, **more)
            except Conflict:
                newest = to_wire(await self.get(resource, name, namespace))
                resource_version = newest["metadata"]["resourceVersion"]
        return await patch(self, resource, name, change, namespace, resource_version=resource_version, **more)

    return mock.patch.object(Client, "patch", stubbornly)


def _know_late_of_clusters() -> Any:
    """Clusters that decisions see are five seconds old, though nothing lies on the way."""
    take = cast(Callable[[Informer[Any], Any], None], Informer.__dict__["_take"])

    def late(self: Informer[Any], event: Any) -> None:
        if self.resource is CLUSTERS:
            asyncio.get_running_loop().call_later(5.0, take, self, event)
        else:
            take(self, event)

    return mock.patch.object(Informer, "_take", late)


def _forget_the_threshold() -> Any:
    """One probe without an answer makes a cluster dead, and one answer alive."""
    none = member_side.Thresholds(0, 0)
    return mock.patch.object(member_side, "Thresholds", return_value=none)


def _delete_on_an_empty_result() -> Any:
    """Health of an empty result: a copy of which nothing is known counts (docs/karmada-behaviour.md, 1)."""

    def healthy(work: Work | None, cluster: Cluster | None, replicas: int) -> Availability:
        known = availability(work, cluster, replicas)
        nothing = work is None or cluster is None or not is_fresh(work, cluster)
        return replace(known, at_least=max(1, replicas), is_whole=True) if nothing else known

    return mock.patch.object(disruption, "availability", healthy)


BUGS: Mapping[str, Callable[[], Any]] = {
    "evict twice": _evict_twice,
    "forget to evict": _forget_to_evict,
    "drop a finalizer": _drop_a_finalizer,
    "act on a stale cache": _act_on_a_stale_cache,
    "repeat after a conflict": _repeat_after_a_conflict,
    "know late of clusters": _know_late_of_clusters,
    "forget the threshold": _forget_the_threshold,
    "delete on an empty result": _delete_on_an_empty_result,
}


@contextmanager
def planted(bug: str) -> Generator[None, None, None]:
    """The product has the bug meanwhile."""
    with BUGS[bug]():
        yield
