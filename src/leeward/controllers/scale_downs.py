"""Scale-downs of copies in clusters that are away: they wait until the cluster is back, and what replaces the replicas
that go is seen healthy. Nothing else waits with them."""

from collections.abc import Collection, Mapping

import msgspec

from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.core.execution.removal import is_scale_down_held
from leeward.core.execution.works import replicas_by_cluster
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.identity import Key, key_of


class ScaleDowns:
    """`enabled` False: nothing waits, as in Karmada. A process that begins knows of none that had begun to wait before
    the cluster was back."""

    def __init__(self, plane: ControlPlane, *, enabled: bool) -> None:
        self._enabled = enabled
        self._interpreter = plane.interpreter
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        self._waiting: dict[Key, Collection[str]] = {}
        """The clusters of scale-downs that wait, by binding."""

    def waiting(self) -> Collection[Key]:
        return frozenset(self._waiting)

    def forget(self, binding: Key) -> None:
        self._waiting.pop(binding, None)

    def told(self, binding: Key) -> list[str]:
        """The clusters that are back, and whose copy is not scaled down yet."""
        clusters = ((name, self._fleet.get(name)) for name in sorted(self._waiting.get(binding, ())))
        return [name for name, cluster in clusters if cluster is not None and cluster.is_ready]

    async def held_back(self, binding: Binding, works: Mapping[str, Work]) -> Binding:
        """The binding with the replicas that its copies are to have for now; `works` are its own, by cluster.
        Holds: S1."""
        key, spec = key_of(binding), binding.spec
        began = self._waiting.get(key, ())
        kept = dict[str, int]()
        may_wait = self._enabled and spec.is_workload and spec.is_divided and not spec.asks_for_none
        for target in spec.clusters if may_wait else ():
            name, work = target.name, works.get(target.name)
            if work is None or not is_scale_down_held(spec, name, works, self._fleet, has_begun=name in began):
                continue
            more = (await self._interpreter.replicas_of_work(work) or 0) - replicas_by_cluster(spec)[name]
            if more > 0:
                kept[name] = target.replicas + more
        if not kept:
            self.forget(key)
            return binding
        self._waiting[key] = set(kept)
        targets = tuple(msgspec.structs.replace(t, replicas=kept.get(t.name, t.replicas)) for t in spec.clusters)
        return msgspec.structs.replace(binding, spec=msgspec.structs.replace(spec, clusters=targets))
