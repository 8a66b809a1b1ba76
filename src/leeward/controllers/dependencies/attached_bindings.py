"""Attached bindings: for each object that others need, a binding that says in its `requiredBy` who needs it, and where.

One write for an object, however many bindings need it. An entry changes only on what is known of its dependant: of one
that nobody has understood since this process runs it stays as it is, and that a dependant is gone only the API server
itself can say (Holds: S5). Entries without a label of ours are somebody else's.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator
from datetime import datetime, timedelta

from controller_runtime import Index, Key, key_of
from kubeapi.codec import to_wire
from kubeclient import AlreadyExists, Conflict, WorldError
from leeward.api.names import BINDING_ID_LABEL, binding_name, cluster_of_execution_space, depended_by_label
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import BindingSnapshot, ResourceBinding, TargetCluster, Work
from leeward.controllers.dependencies.dependency_events import DependencyEvents
from leeward.core.dependencies.attached import AttachedChange, Dependant, agree, change_attached, listed_in
from leeward.core.dependencies.requirements import clusters_with_data, follows, is_done_with, required_clusters
from leeward.core.eviction.shared_resources import is_shared, lets_shared_go
from leeward.core.propagation.claiming import belongs_to
from leeward.core.propagation.reach import Reach, binding_problems
from leeward.runtime.binding_kinds import RESOURCE_BINDING
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.dependants import DependantIndex
from leeward.runtime.interpreter import WEBHOOK_AGAIN
from leeward.runtime.templates import TemplateKey, Templates, read_current

GAP = timedelta(seconds=0.25)
"""Time between two writes for one object: a mass failover of those who share it is told in few."""


class AttachedBindings:
    def __init__(
        self,
        plane: ControlPlane,
        templates: Templates,
        index: DependantIndex,
        reach: Reach,
        *,
        enabled: bool,
        leaves_last: bool,
    ) -> None:
        """`enabled` False: what is there stays, and goes only with its dependants. `leaves_last` False: it is where the
        targets are, as in Karmada."""
        self._plane = plane
        self._templates = templates
        self._index = index
        self._reach = reach
        self._enabled = enabled
        self._leaves_last = leaves_last
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._works = plane.informers.of(WORKS)
        self._clusters = plane.informers.of(CLUSTERS)
        self._fleet = ClustersByName(self._clusters)
        self._works_of = Index(self._works, RESOURCE_BINDING.key_of_work)
        self._listed: defaultdict[Key, set[TemplateKey]] = defaultdict(set)
        """Objects whose bindings list a dependant, by dependant."""
        self._lingering: defaultdict[Key, set[TemplateKey]] = defaultdict(set)
        """Objects that its template names no more, and its copies may still need, by dependant."""
        self._written: dict[TemplateKey, datetime] = {}
        """Instants of recent writes, by the object that they were for."""
        self._events = DependencyEvents(plane)
        self._controller = plane.controller("dependencies-distributor-attached", self.reconcile)

    def start(self) -> None:
        self._works.on_change(self._work_changed)
        self._templates.on_change(self._template_changed)
        self._controller.start(self._plane.supervisor)

    def add(self, objects: Collection[TemplateKey]) -> None:
        for needed in sorted(objects):
            self._controller.queue.add(needed)

    def listing(self, dependant: Key) -> Collection[TemplateKey]:
        """The objects whose bindings say that this one needs them."""
        return frozenset(self._listed.get(dependant, ()))

    def leaving_with(self, dependant: ResourceBinding) -> Collection[TemplateKey]:
        """Objects of that listing that leave after it; what has data in it stays, and holds nothing up."""
        listing, stays = self.listing(key_of(dependant)), self._leaves_last and not lets_shared_go(dependant)
        return frozenset(each for each in listing if not (stays and _keeps_data(each)))

    def note(self, old: ResourceBinding | None, new: ResourceBinding | None) -> Collection[Key]:
        """Takes in a change of any binding. Returns the dependants that it does not list any more."""
        before, after = self._places_in(old), self._places_in(new)
        self._keep_listing(old, before - after, listed=False)
        self._keep_listing(new, after - before, listed=True)
        if old is not None and new is not None and _concerns(old) == _concerns(new):
            return ()
        for binding in (old, new):
            if binding is not None and (before or after or self._index.dependants_of(_object_of(binding))):
                self._controller.queue.add(_object_of(binding))
        return sorted(before - after)

    async def reconcile(self, needed: TemplateKey) -> datetime | None:
        for informer in (self._bindings, self._works, self._clusters):
            await informer.wait_current()
        namespace, name = needed.key.namespace, binding_name(needed.kind, needed.key.name)
        present = self._bindings.get(name, namespace)
        if present is not None and (
            present.metadata.deletion_timestamp is not None
            or _object_of(present) != needed
            or binding_problems(present, self._reach)
        ):
            return None
        written, now = self._written.pop(needed, None), self._plane.clock.now()
        if written is not None and now < written + GAP:
            self._written[needed] = written
            return written + GAP
        dependants = [each async for each in self._dependants(needed, present)]
        if not dependants:
            self._events.forget(needed)
            return None
        try:
            await self._sync(needed, present, dependants)
        except WorldError as error:
            self._events.failed(needed, dependants, error)
            raise
        return None

    async def _sync(
        self, needed: TemplateKey, present: ResourceBinding | None, dependants: Collection[Dependant]
    ) -> None:
        resource, _ = await self._templates.follow(needed.api_version, needed.kind)
        template = await read_current(self._plane.server, resource, needed.key)
        if template is None or "deletionTimestamp" in template["metadata"]:
            return
        if present is not None and not belongs_to(to_wire(present), template):
            return
        ordered = sorted(dependants, key=lambda each: each.name)
        asking = list(self._needing(present, ordered)) or ([present] if present is not None else [])
        agreement = agree(binding.spec for binding in asking)
        written = await self._write(present, change_attached(template, present, ordered, agreement))
        if written:
            self._written[needed] = self._plane.clock.now()
            self._events.succeeded(present, ordered)
        self._events.disagreed(needed, agreement.conflicts)

    async def _write(self, present: ResourceBinding | None, change: AttachedChange) -> bool:
        client = self._plane.client
        if change.creates is not None:
            try:
                namespace = key_of(change.creates).namespace
                self._bindings.remember(await client.create(RESOURCE_BINDINGS, change.creates, namespace))
            except AlreadyExists as error:
                raise Conflict(error.status) from error
            return True
        if present is None:
            return False
        name, namespace, version = present.name, present.namespace, present.metadata.resource_version
        if change.deletes:
            uid = present.metadata.uid
            await client.delete(RESOURCE_BINDINGS, name, namespace, uid=uid, resource_version=version)
        elif change.patch is not None:
            patched = await client.patch(RESOURCE_BINDINGS, name, change.patch, namespace, resource_version=version)
            self._bindings.remember(patched)
        return change.deletes or change.patch is not None

    async def _dependants(self, needed: TemplateKey, present: ResourceBinding | None) -> AsyncIterator[Dependant]:
        """Bindings that depend on the object, as far as they are known, with the clusters in which they need it, or in
        which it stays although they do not."""
        places = {*self._index.dependants_of(needed), *self._places_in(present)}
        for place in sorted(places):
            dependant = self._bindings.get(place.name, place.namespace)
            if dependant is not None:
                clusters = await self._clusters_for(needed, present, dependant)
                permanent_id = dependant.metadata.labels.get(BINDING_ID_LABEL, "")
            else:
                held = self._holding(place) if self._leaves_last else {}
                left = tuple(each for each in _listed_for(place, present) if each.name in held)
                clusters = left if await self._is_gone(place) else None
                permanent_id = present.metadata.labels.get(depended_by_label(*place), "") if present is not None else ""
            if clusters is not None:
                kept = self._clusters_with_data(place, present, dependant)
                clusters = (*clusters, *(each for each in kept if each.name not in {c.name for c in clusters}))
                yield _needing(place, clusters, permanent_id)

    def _clusters_with_data(
        self, place: Key, present: ResourceBinding | None, dependant: ResourceBinding | None
    ) -> tuple[TargetCluster, ...]:
        if present is None or not self._leaves_last or not _keeps_data(_object_of(present)):
            return ()
        before = _listed_for(place, present)
        return clusters_with_data(before, dependant, self._holding(key_of(present)), self._fleet)

    async def _clusters_for(
        self, needed: TemplateKey, present: ResourceBinding | None, dependant: ResourceBinding
    ) -> tuple[TargetCluster, ...] | None:
        """None where that is not known."""
        place = key_of(dependant)
        self._keep_lingering(place, needed, lingers=False)
        is_going = dependant.metadata.deletion_timestamp is not None
        if not self._enabled and not is_going:
            return None
        if not follows(dependant):
            return ()
        if not is_going and not self._index.knows(place):
            return None
        is_named = is_going or needed in self._index.objects_of(place)
        if not self._leaves_last:
            return dependant.spec.clusters if is_named and not is_going else ()
        if not is_named:
            return await self._lingering_clusters(needed, present, dependant)
        return required_clusters(dependant, self._holding(place))

    async def _lingering_clusters(
        self, needed: TemplateKey, present: ResourceBinding | None, dependant: ResourceBinding
    ) -> tuple[TargetCluster, ...]:
        """Clusters in which a copy may still run that was made when its template named the object."""
        place = key_of(dependant)
        before, works = _listed_for(place, present), self._holding(place)
        object_name = (needed.api_version, needed.kind, needed.key.name)
        replicas = {target.name: target.replicas for target in dependant.spec.clusters}
        lingering: list[TargetCluster] = []
        for target in before:
            work, cluster, count = works.get(target.name), self._clusters.get(target.name), replicas.get(target.name, 0)
            named = await self._plane.interpreter.known_dependencies(work)
            if named is None:
                self._controller.queue.add_at(needed, self._plane.clock.now() + WEBHOOK_AGAIN)
            if named is None or not is_done_with(work, named, cluster, count, object_name):
                lingering.append(target)
        self._keep_lingering(place, needed, lingers=bool(lingering))
        return tuple(lingering)

    def _needing(self, present: ResourceBinding | None, dependants: Collection[Dependant]) -> Iterator[ResourceBinding]:
        """The bindings that will be listed: what they ask for decides for the object."""
        told = {dependant.name: bool(dependant.snapshot.clusters) for dependant in dependants}
        listed = present.spec.required_by if present is not None else ()
        places = {place for place, needs in told.items() if needs}
        places |= {(each.namespace, each.name) for each in listed if told.get((each.namespace, each.name), True)}
        for namespace, name in sorted(places):
            found = self._bindings.get(name, namespace)
            if found is not None:
                yield found

    async def _is_gone(self, place: Key) -> bool:
        return await self._plane.client.find(RESOURCE_BINDINGS, place.name, place.namespace) is None

    def _holding(self, place: Key) -> dict[str, Work]:
        """The Works of a binding, by cluster."""
        return {cluster_of_execution_space(work.namespace): work for work in self._works_of.get(place)}

    def _places_in(self, binding: ResourceBinding | None) -> frozenset[Key]:
        """The dependants that a binding lists, in its own namespace and with a label of ours."""
        return frozenset(Key(*place) for place in listed_in(binding)) if binding is not None else frozenset()

    def _keep_listing(self, binding: ResourceBinding | None, places: Collection[Key], *, listed: bool) -> None:
        if binding is not None:
            for place in places:
                _keep(self._listed, place, _object_of(binding), there=listed)

    def _keep_lingering(self, place: Key, needed: TemplateKey, *, lingers: bool) -> None:
        _keep(self._lingering, place, needed, there=lingers)

    def _template_changed(self, needed: TemplateKey, _: bool) -> None:
        if self._index.dependants_of(needed):
            self._controller.queue.add(needed)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """A Work that is gone lets go what it needed, and is one cluster less where something is kept; one that reports
        may be done with what it needed before."""
        for work in (old, new):
            place = RESOURCE_BINDING.key_of_work(work) if work is not None else None
            if place is not None:
                self.add(self._lingering.get(place, ()))
                if new is None:
                    self.add(self.listing(place))
                    attached = self._bindings.get(place.name, place.namespace)
                    if attached is not None and attached.spec.required_by:
                        self._controller.queue.add(_object_of(attached))


def _needing(place: Key, clusters: tuple[TargetCluster, ...], permanent_id: str) -> Dependant:
    return Dependant(BindingSnapshot(name=place.name, namespace=place.namespace, clusters=clusters), permanent_id)


def _listed_for(place: Key, attached: ResourceBinding | None) -> tuple[TargetCluster, ...]:
    """The clusters in which `attached` says that this dependant needs it."""
    listed = attached.spec.required_by if attached is not None else ()
    return tuple(t for each in listed if (each.namespace, each.name) == place for t in each.clusters)


def _keeps_data(needed: TemplateKey) -> bool:
    return is_shared(needed.api_version, needed.kind)


def _object_of(binding: ResourceBinding) -> TemplateKey:
    resource = binding.spec.resource
    return TemplateKey(resource.api_version, resource.kind, Key(resource.namespace, resource.name))


def _concerns(binding: ResourceBinding) -> tuple[object, ...]:
    """Parts of a binding that this is about, beside its status."""
    metadata = binding.metadata
    return metadata.uid, metadata.generation, metadata.deletion_timestamp, metadata.labels


def _keep(found: "defaultdict[Key, set[TemplateKey]]", place: Key, needed: TemplateKey, *, there: bool) -> None:
    if there:
        found[place].add(needed)
    elif place in found:
        found[place].discard(needed)
        if not found[place]:
            del found[place]
