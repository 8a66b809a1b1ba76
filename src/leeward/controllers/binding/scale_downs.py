"""Scale-downs of copies that are held back: while their cluster is away, and as long as the law keeps what they serve
(`core.copies.disruption`). Nothing else waits with them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from controller_runtime import Key, key_of
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, labels_of
from leeward.api.names import RETAIN_REPLICAS_LABEL
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, ResourceBindingSpec, Work
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.core.copies.availability import availability, wanted_by_itself
from leeward.core.copies.disruption import NO_SIZES, copies_of
from leeward.core.copies.evidence import is_fresh, is_uncounted
from leeward.core.execution.removal import held_scale_downs
from leeward.core.execution.works import replicas_by_cluster
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.interpreter import NotInterpreted


@dataclass(frozen=True, slots=True)
class HeldCopies:
    """The binding with the replicas that its copies keep for now, and when to look again. The Works of the clusters
    `unread` stay as they are: nobody can say by how much they would shrink."""

    binding: Binding
    unread: frozenset[str] = frozenset()
    look_at: datetime | None = None


class ScaleDowns:
    """Remembers of a binding only that it is to be looked at again: whatever is held is decided anew each time."""

    def __init__(self, plane: ControlPlane, holds: RemovalHolds) -> None:
        self._clock = plane.clock
        self._interpreter = plane.interpreter
        self._holds = holds
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        self._waiting: dict[Key, Collection[str]] = {}
        """The clusters of scale-downs that wait, by binding."""

    def waiting(self) -> Collection[Key]:
        return frozenset(self._waiting)

    def forget(self, binding: Key) -> None:
        self._waiting.pop(binding, None)

    def told(self, binding: Key) -> list[str]:
        """The clusters that can be seen, and whose copy is not scaled down yet."""
        clusters = ((name, self._fleet.get(name)) for name in sorted(self._waiting.get(binding, ())))
        return [name for name, cluster in clusters if cluster is not None and cluster.is_ready]

    async def held(self, binding: Binding, works: Mapping[str, Work], desired: Mapping[str, Manifest]) -> HeldCopies:
        """Copies that shrink later. `works` are those of the binding by cluster, `desired` those that it is to have.

        Of a manifest that nobody can read, the Work may ask for nothing. Holds: S1."""
        key, spec = key_of(binding), binding.spec
        self.forget(key)
        may_wait = self._holds.enabled and spec.is_workload and spec.is_divided and not spec.asks_for_none
        found = self._larger(spec, works, desired) if may_wait else NO_SIZES
        now, to_have = self._clock.now(), replicas_by_cluster(spec)
        more, left, sizes = dict[str, int](), dict[str, int](), dict[str, int]()
        for name, told in found.items():
            before = await self._interpreter.replicas_in(works[name].spec.workload.manifests)
            after = await self._interpreter.replicas_in(desired[name]["spec"]["workload"]["manifests"])
            if before is None or after is None or after < before:
                more[name] = 0 if before is None or after is None else before - after
                left[name] = 0 if after is None else to_have[name]
                sizes[name] = to_have[name] + more[name] if more[name] else max(told, to_have[name] + 1)
        if not more:
            return HeldCopies(binding)
        attention = self._holds.attention
        settled = attention.has_settled(now)
        copies = copies_of(spec, works, self._fleet, now, sizes, watched=settled)
        held = held_scale_downs(copies, left, self._fleet)
        if held and copies.asked:
            needs = await self._needs(spec, works, desired)
            copies = copies_of(spec, works, self._fleet, now, sizes, needs, watched=settled)
            held = held_scale_downs(copies, left, self._fleet)
        if not held:
            return HeldCopies(binding)
        self._waiting[key] = held
        kept = _with_more(spec, {name: more[name] for name in held}, to_have)
        unread = frozenset(name for name in held if not more[name])
        look_at = attention.settles_at(now) or copies.settles_at
        return HeldCopies(msgspec.structs.replace(binding, spec=kept), unread, look_at)

    def _larger(
        self, spec: ResourceBindingSpec, works: Mapping[str, Work], desired: Mapping[str, Manifest]
    ) -> Mapping[str, int]:
        """Copies that may lose replicas, of targets and of those that leave, with the replicas that were reported last.
        A copy that a person has ended goes.

        A copy that nobody can count shrinks as asked, while every target reports: to wait would bring no better word.
        """
        ended = {task.from_cluster for task in spec.graceful_eviction_tasks if task.suppress_deletion is False}
        to_have, found = replicas_by_cluster(spec), dict[str, int]()
        all_report = all(is_fresh(works.get(each.name), self._fleet.get(each.name)) for each in spec.clusters)
        own = {target.name for target in spec.clusters} | {t.from_cluster for t in spec.graceful_eviction_tasks}
        for name in sorted(own & to_have.keys() - ended):
            work = works.get(name)
            if work is None or name not in desired or (all_report and is_uncounted(work)):
                continue
            known = availability(work, self._fleet.get(name), to_have[name] + 1)
            if known.since is not None and known.told <= to_have[name]:
                continue
            manifests = desired[name]["spec"]["workload"]["manifests"]
            is_retained = all(labels_of(each).get(RETAIN_REPLICAS_LABEL) == "true" for each in manifests)
            if not is_retained and not is_equal(list(work.spec.workload.manifests), manifests):
                found[name] = known.told
        return found

    async def needs_beside_removals(
        self, spec: ResourceBindingSpec, works: Mapping[str, Work], desired: Mapping[str, Manifest]
    ) -> Mapping[str, int]:
        """`_needs`, where a copy of replicas goes; none where nobody asks."""
        goes = spec.replicas > 0 and not works.keys() <= desired.keys()
        return await self._needs(spec, works, desired) if goes else NO_SIZES

    async def _needs(
        self, spec: ResourceBindingSpec, works: Mapping[str, Work], desired: Mapping[str, Manifest]
    ) -> Mapping[str, int]:
        """Replicas that the override policies leave to each target, or its own cluster wants of a copy that retains
        them; without those whose manifest nobody can read."""
        leaving = {task.from_cluster: task.replicas or 0 for task in spec.graceful_eviction_tasks}
        needs = dict[str, int]()
        for target in spec.clusters:
            if target.name in desired:
                (manifest,) = desired[target.name]["spec"]["workload"]["manifests"]
                try:
                    asked = (await self._interpreter.replicas(manifest)).replicas
                except NotInterpreted:
                    continue
                if labels_of(manifest).get(RETAIN_REPLICAS_LABEL) == "true":
                    asked = wanted_by_itself(works.get(target.name), self._fleet.get(target.name)) or asked
                needs[target.name] = max(0, asked - leaving.get(target.name, 0))
        return needs


def _with_more(spec: ResourceBindingSpec, more: Mapping[str, int], to_have: Mapping[str, int]) -> ResourceBindingSpec:
    """The spec in which copies keep so many `more` replicas than they are `to_have`: targets, and those that leave."""
    targets = {target.name for target in spec.clusters}
    clusters = tuple(msgspec.structs.replace(t, replicas=t.replicas + more.get(t.name, 0)) for t in spec.clusters)
    tasks = tuple(
        msgspec.structs.replace(task, replicas=to_have[name] + more[name])
        if (name := task.from_cluster) in more and name not in targets
        else task
        for task in spec.graceful_eviction_tasks
    )
    return msgspec.structs.replace(spec, clusters=clusters, graceful_eviction_tasks=tasks)
