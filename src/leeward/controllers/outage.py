"""The outage controller: keeps one `Outage` object for each outage of a cluster, which tells it as a story.

It follows clusters that are lost, and the bindings and Works of the applications there; what it sees is folded into a
record (`core.outages`), and written seldom: at once when an outage begins, when its cluster is back and when it is
over, and else the later, the more often it was written. Who takes over goes on in the same object, and so does who
finds that the control plane was restored: what it has seen before that is not so there. It decides nothing about any
cluster or binding, and nobody waits for it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from controller_runtime import IndexOfMany, delete_seen, key_of
from kubeapi.core import LEASES
from kubeapi.diff import status_patch
from kubeclient import AlreadyExists, Conflict, NotFound
from leeward.api.cluster import Cluster
from leeward.api.names import SYSTEM_NAMESPACE, execution_space, work_name
from leeward.api.outage import ClusterOutage, OutageApplication, OutagePhase, OutageStatus
from leeward.api.resource import CLUSTERS, OUTAGES, WORKS
from leeward.api.work import Binding, Work, is_application
from leeward.core.cluster_health.outage import clusters_of
from leeward.core.outages.fold import fold, newly_recovered
from leeward.core.outages.observation import OutageObservation
from leeward.core.outages.record import OutageRecord, begin, goes_on, is_lost, recall, render
from leeward.core.outages.sight import ApplicationKey, CopySight, sight_of
from leeward.core.outages.writing import Pace, urgency_of
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

KINDS = (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING)
SETTLE, SETTLE_APPLICATIONS = timedelta(milliseconds=200), 500
"""Changes within this time are looked at together in an outage of so many applications, and longer in a larger one:
each look costs as much as there are applications, and there are the more looks, the longer they take to move."""
MOST_OUTAGES = 100
"""Most outages that are over; the oldest are deleted beyond."""

Trace = Callable[[str, OutageStatus, OutageApplication, Mapping[str, datetime]], None]
"""Writer of an eviction as a trace. Its arguments: the lost cluster, its outage, the application, and the instants at
which target clusters have applied their Works."""


@dataclass(slots=True)
class _Followed:
    """An outage that is followed. `to_see` are applications to be looked at, all of them with `all_to_see`."""

    record: OutageRecord
    pace: Pace = field(default_factory=Pace)
    written: ClusterOutage | None = None
    to_see: set[ApplicationKey] = field(default_factory=set[ApplicationKey])
    all_to_see: bool = True


class OutageController:
    def __init__(
        self, plane: ControlPlane, brake: BrakeView, heartbeat: HeartbeatView, *, evicts: bool, traces: bool = False
    ) -> None:
        """`evicts`: clusters that are lost are evicted from. `traces`: each eviction is sent as a trace."""
        self._plane = plane
        self._brake = brake
        self._heartbeat = heartbeat
        self._evicts = evicts
        self._trace = _trace_writer() if traces else None
        self._clusters = plane.informers.of(CLUSTERS)
        self._outages = plane.informers.of(OUTAGES)
        self._works = plane.informers.of(WORKS)
        self._bindings = [plane.informers.of(kind.resource) for kind in KINDS]
        self._by_cluster = [
            IndexOfMany(informer, lambda binding: clusters_of(binding.spec)) for informer in self._bindings
        ]
        heartbeats = plane.informers.of(LEASES, SYSTEM_NAMESPACE)
        self._read = (self._clusters, self._outages, self._works, *self._bindings, heartbeats)
        """Informers whose kinds must be known as they are now. A heartbeat, often renewed, shows every restore."""
        self._following: dict[str, _Followed] = {}
        self._told_of: dict[ApplicationKey, dict[str, None]] = {}
        """Names of the clusters of those outages that are followed and know the application."""
        self._controller = plane.controller("outage-controller", self.reconcile, workers=4)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._outages.on_change(self._outage_changed)
        self._works.on_change(self._work_changed)
        for informer in self._bindings:
            informer.on_change(self._binding_changed)
        self._brake.on_change(self._look_at_all)
        self._plane.informers.on_restored(self._restored)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        for informer in self._read:
            await informer.wait_current()
        await self._brake.wait_synced()
        followed, cluster = self._following.get(name), self._clusters.get(name)
        if followed is None:
            cluster = await self._seen_anew(name, cluster)
            followed = self._take_up(name, cluster)
        if followed is None:
            return None
        before = followed.record
        followed.record = fold(before, self._observe(followed, cluster))
        self._note(name, before.applications.keys(), followed.record.applications.keys())
        for application in newly_recovered(before, followed.record):
            self._recovered(followed.record, application)
        return await self._write_when_due(name, followed)

    def _recovered(self, record: OutageRecord, application: OutageApplication) -> None:
        self._plane.metrics.outages.recovered(application.recovery_seconds or 0)
        if self._trace is not None:
            work = work_name(application.kind, application.name, application.namespace)
            found = {target: self._work_in(work, target) for target in application.to}
            applied = {target: each.applied for target, each in found.items() if each is not None}
            instants = {target: each.last_transition_time for target, each in applied.items() if each is not None}
            known = {target: at for target, at in instants.items() if at is not None}
            self._trace(record.spec.cluster, record.status, application, known)

    async def _seen_anew(self, name: str, cluster: Cluster | None) -> Cluster | None:
        """The Cluster, read once more where it is Ready and an outage of it is open: whoever has begun that may have
        seen what this process has yet to hear of. Raises: WorldError."""
        is_open = any(each.spec.cluster == name and not _is_over(each) for each in self._outages.list())
        if cluster is None or not cluster.is_ready or not is_open:
            return cluster
        try:
            found = await self._plane.client.get(CLUSTERS, name)
        except NotFound:
            return cluster
        self._clusters.remember(found)
        return found

    def _take_up(self, name: str, cluster: Cluster | None) -> _Followed | None:
        """The last outage of a cluster where it goes on, or one that begins; None where there is neither."""
        outages = (outage for outage in self._outages.list() if outage.spec.cluster == name)
        last = max(outages, key=lambda outage: outage.spec.since, default=None)
        is_open = last is not None and last.status.phase is not OutagePhase.OVER
        if last is not None and (is_open if cluster is None else goes_on(last, cluster)):
            followed = _Followed(recall(last), written=last)
        elif cluster is not None and is_lost(cluster):
            followed = _Followed(begin(cluster))
        else:
            return None
        self._following[name] = followed
        self._note(name, (), followed.record.applications.keys())
        return followed

    def _forget(self, name: str) -> None:
        followed = self._following.pop(name, None)
        if followed is not None:
            self._note(name, followed.record.applications.keys(), ())

    def _note(self, name: str, before: Collection[ApplicationKey], after: Collection[ApplicationKey]) -> None:
        """Notes of which applications an outage knows from now on."""
        for key in set(before).difference(after):
            del self._told_of[key][name]
            if not self._told_of[key]:
                del self._told_of[key]
        for key in set(after).difference(before):
            self._told_of.setdefault(key, {})[name] = None

    def _observe(self, followed: _Followed, cluster: Cluster | None) -> OutageObservation:
        now, is_whole = self._plane.clock.now(), followed.all_to_see
        seen: dict[ApplicationKey, CopySight | None] = {}
        if cluster is not None:
            bindings = dict(self._concerned(cluster.name)) if is_whole else {}
            known = followed.record.applications.keys() if is_whole else followed.to_see
            for key in sorted({*known, *bindings}):
                binding = bindings.get(key) or self._binding(key)
                seen[key] = None if binding is None else self._sight(binding, cluster, now)
        followed.to_see, followed.all_to_see = set(), False
        braked = self._brake.holds()
        return OutageObservation(now, cluster, seen, braked, self._evicts, is_whole)

    def _concerned(self, cluster: str) -> Iterator[tuple[ApplicationKey, Binding]]:
        for index in self._by_cluster:
            for binding in index.get(cluster):
                if is_application(binding):
                    yield key_of(binding), binding

    def _binding(self, key: ApplicationKey) -> Binding | None:
        namespace, name = key
        found = self._bindings[0 if namespace else 1].get(name, namespace)
        return found if found is not None and is_application(found) else None

    def _sight(self, binding: Binding, lost: Cluster, now: datetime) -> CopySight:
        resource = binding.spec.resource
        named = {target.name for target in binding.spec.clusters}
        clusters = {name: found for name in named if (found := self._clusters.get(name)) is not None}
        work_in = partial(self._work_in, work_name(resource.kind, resource.name, resource.namespace))
        return sight_of(binding, lost, clusters, work_in, now, self._heartbeat.attention().time)

    def _work_in(self, name: str, cluster: str) -> Work | None:
        return self._works.get(name, execution_space(cluster))

    async def _write_when_due(self, name: str, followed: _Followed) -> datetime | None:
        """Raises: WorldError."""
        now, outage, written = self._plane.clock.now(), render(followed.record), followed.written
        self._plane.metrics.outages.counted(name, outage.status)
        if written is None or outage.status != written.status:
            followed.pace, due_at = followed.pace.changed(now, urgency_of(written, outage))
            if now < due_at:
                return due_at
            try:
                followed.written = replace(await self._write(outage), status=outage.status)
            except (Conflict, NotFound, AlreadyExists):
                self._forget(name)
                raise
            followed.pace = followed.pace.wrote(now)
        if outage.status.phase is OutagePhase.OVER and followed.record.status.phase is OutagePhase.OVER:
            self._forget(name)
            self._plane.metrics.outages.over(name)
        return None

    async def _write(self, outage: ClusterOutage) -> ClusterOutage:
        """Makes the object where there is none. Raises: WorldError."""
        client, present = self._plane.client, self._outages.get(outage.name)
        if present is None:
            await self._make_room()
            written = await client.create(OUTAGES, outage)
        else:
            patch, version = status_patch(present.status, outage.status), present.metadata.resource_version
            written = await client.patch(OUTAGES, outage.name, patch, resource_version=version) if patch else present
        self._outages.remember(written)
        return written

    async def _make_room(self) -> None:
        """Deletes the oldest outages that are over. Raises: WorldError."""
        over = [outage for outage in self._outages.list() if _is_over(outage)]
        surplus = sorted(over, key=lambda outage: outage.spec.since)[: max(0, len(over) - MOST_OUTAGES + 1)]
        for outage in surplus:
            await delete_seen(self._plane.client, OUTAGES, outage.name, uid=outage.metadata.uid, only=_is_over)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        cluster = new or old
        if cluster is None:
            return
        followed = self._following.get(cluster.name)
        if followed is not None or (new is not None and is_lost(new)):
            if followed is not None:
                followed.all_to_see = True
            self._controller.queue.add(cluster.name)
        if old is None or new is None or old.is_ready != new.is_ready:
            self._look_at_all()

    def _outage_changed(self, old: ClusterOutage | None, new: ClusterOutage | None) -> None:
        """Takes up an outage that another process has left behind: it goes on, or has ended meanwhile."""
        if new is not None and not _is_over(new) and new.spec.cluster not in self._following:
            self._controller.queue.add(new.spec.cluster)

    def _restored(self) -> None:
        """Forgets what was seen of a control plane that is no more; each outage goes on from its object."""
        for name in self._following:
            self._plane.metrics.outages.over(name)
            self._controller.queue.add(name)
        self._following.clear()
        self._told_of.clear()
        for outage in self._outages.list():
            if not _is_over(outage):
                self._controller.queue.add(outage.spec.cluster)

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        binding = new or old
        if binding is None or not self._following or not is_application(binding):
            return
        key = key_of(binding)
        there = {name for each in (old, new) if each is not None for name in clusters_of(each.spec)}
        for name in sorted({*there.intersection(self._following), *self._told_of.get(key, ())}):
            self._look_at(name, self._following[name], key)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        work = new or old
        if work is None or not self._following:
            return
        for key in filter(None, (kind.key_of_work(work) for kind in KINDS)):
            for name in self._told_of.get(key, ()):
                followed = self._following[name]
                if followed.record.applications[key].left_at is not None:
                    self._look_at(name, followed, key)

    def _look_at(self, cluster: str, followed: _Followed, key: ApplicationKey) -> None:
        followed.to_see.add(key)
        self._look_soon(cluster, followed)

    def _look_at_all(self) -> None:
        for name, followed in self._following.items():
            followed.all_to_see = True
            self._look_soon(name, followed)

    def _look_soon(self, cluster: str, followed: _Followed) -> None:
        settle = settle_time(len(followed.record.applications))
        self._controller.queue.add_at(cluster, self._plane.clock.now() + settle)


def _trace_writer() -> Trace:
    from leeward.runtime.eviction_traces import EvictionTraces

    return EvictionTraces().write


def settle_time(applications: int) -> timedelta:
    return max(SETTLE, SETTLE * applications / SETTLE_APPLICATIONS)


def _is_over(outage: ClusterOutage) -> bool:
    return outage.status.phase is OutagePhase.OVER
