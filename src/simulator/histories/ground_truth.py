"""The truth of a world, read from its journal: what the stores hold, and what members really run.

Checkers judge by it, never by what a cache believes. Every write becomes a `Change`, with the object before and after
it; of members only what applications are made of is kept. How many replicas are ready is counted from the Pods there:
neither what a Deployment says of itself nor what a Work reports is evidence.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller_runtime import Key
from kubeapi.codec import decode, decode_manifest
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of
from kubecluster.journal import Journal, Write
from leeward.api.cluster import Cluster
from leeward.api.names import (
    BRAKE_NAME,
    EXECUTION_SPACE_PREFIX,
    SYSTEM_NAMESPACE,
    WORK_NAME_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.outage import ClusterOutage
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding, Work
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from simulator.histories.manifests import is_told_ready
from simulator.histories.ready_pods import PODS, Copies, ReadyPods

HOME = "control-plane"
WORKS = "/work.karmada.io/works/"
OUTAGES = "/leeward.dev/outages/"
BINDINGS = ("/work.karmada.io/resourcebindings/", "/work.karmada.io/clusterresourcebindings/")
TYPES: Mapping[str, type[Any]] = {
    "/cluster.karmada.io/clusters/": Cluster,
    BINDINGS[0]: ResourceBinding,
    BINDINGS[1]: ClusterResourceBinding,
    WORKS: Work,
    OUTAGES: ClusterOutage,
}
TEMPLATES = ("/apps/deployments/", "//configmaps/")
SCRIPTED = "/sim.example.com/batches/"
"""The kind that only scripts understand."""
OPERATED = "/sim.example.com/databases/"
"""The kind that no rule judges."""
CUSTOMIZATIONS = "/config.karmada.io/resourceinterpretercustomizations/"
KINDS: Mapping[str, str] = {
    "Deployment": TEMPLATES[0],
    "ConfigMap": TEMPLATES[1],
    "Namespace": "//namespaces/",
    "CustomResourceDefinition": "/apiextensions.k8s.io/customresourcedefinitions/",
    "Service": "//services/",
    "PersistentVolumeClaim": "//persistentvolumeclaims/",
    "Secret": "//secrets/",
    "ResourceQuota": "//resourcequotas/",
    "Batch": SCRIPTED,
    "Database": OPERATED,
    "Job": "/batch/jobs/",
    "CronJob": "/batch/cronjobs/",
}
"""Kinds that are propagated, and the beginnings of their keys."""
CUSTOM = ".example.com/widgets/"
"""Ending of the kind of a custom resource."""
POLICIES = ("/policy.karmada.io/propagationpolicies/", "/policy.karmada.io/clusterpropagationpolicies/")
QUOTAS = "/policy.karmada.io/federatedresourcequotas/"
OVERRIDES = ("/policy.karmada.io/clusteroverridepolicies/", "/policy.karmada.io/overridepolicies/")
"""Prefixes in the order in which they are carried out."""
OTHERS = frozenset({*POLICIES, QUOTAS, *OVERRIDES, CUSTOMIZATIONS, *KINDS.values()})


@dataclass(frozen=True, slots=True)
class Change:
    """One write: `kind` is the prefix of the store's keys; `old` and `new` are None for an absence."""

    seconds: float
    place: str
    kind: str
    key: Key
    old: Any
    new: Any
    revision: int
    deleted: bool
    restored: bool = False
    """Tells whether nothing changes: it is as it was when the backup was taken that the control plane has now."""


class GroundTruth:
    """Listens to the journal; tells its own readers of changes in the order of the writes. What is restored is no
    change: who has to know, asks for it."""

    def __init__(self, journal: Journal) -> None:
        self.now = journal.now
        self.objects: dict[tuple[str, str], dict[Key, Any]] = {}
        self._copies: dict[tuple[str, str, Key], Copies] = {}
        self._pods = ReadyPods()
        self._works_of: dict[Key, dict[str, Key]] = {}
        self._owners: dict[Key, Key] = {}
        self._readers: list[Callable[[Change], None]] = []
        journal.on_write(self._take)
        journal.on_replaced(self._forget)

    def on_change(self, reader: Callable[[Change], None]) -> None:
        self._readers.append(reader)

    def of(self, kind: str, place: str = HOME) -> Mapping[Key, Any]:
        return self.objects.get((place, kind), {})

    @property
    def members(self) -> set[str]:
        """Members that hold anything that is looked at."""
        return {place for place, _ in self.objects if place != HOME}

    @property
    def clusters(self) -> dict[str, Cluster]:
        return {key.name: cluster for key, cluster in self.of("/cluster.karmada.io/clusters/").items()}

    @property
    def bindings(self) -> Mapping[Key, ResourceBinding]:
        """Bindings of templates in namespaces."""
        return self.of(BINDINGS[0])

    @property
    def cluster_bindings(self) -> Mapping[Key, ClusterResourceBinding]:
        return self.of(BINDINGS[1])

    def any_binding(self, key: Key) -> Binding | None:
        """Binding by its key; that of a template without a namespace has none either."""
        return self.bindings.get(key) if key.namespace else self.cluster_bindings.get(key)

    @property
    def works(self) -> Mapping[Key, Work]:
        return self.of(WORKS)

    def works_of(self, binding: Key) -> dict[str, Work]:
        """Works by cluster."""
        works = self.works
        return {cluster: works[key] for cluster, key in self._works_of.get(binding, {}).items()}

    def key_of_work(self, binding: Key, cluster: str) -> Key | None:
        """None where it has none."""
        return self._works_of.get(binding, {}).get(cluster)

    @property
    def brake(self) -> Manifest | None:
        return self.of("//configmaps/").get(Key(SYSTEM_NAMESPACE, BRAKE_NAME))

    def copies(self, member: str, binding: Binding) -> Copies:
        """Copies that the member runs of the binding's template."""
        resource = binding.spec.resource
        kind = KINDS[resource.kind]
        return self._copies.get((member, kind, Key(resource.namespace, resource.name))) or Copies()

    def with_image(self, member: str, binding: Binding, image: str) -> Copies:
        """Pods of this image that the member runs of the binding's template."""
        resource = binding.spec.resource
        return self._pods.with_image(member, Key(resource.namespace, resource.name), image)

    def copy(self, member: str, binding: Binding) -> Manifest | None:
        resource = binding.spec.resource
        return self.of(KINDS[resource.kind], member).get(Key(resource.namespace, resource.name))

    def template_of(self, binding: Binding) -> Manifest | None:
        resource = binding.spec.resource
        return self.of(KINDS[resource.kind]).get(Key(resource.namespace, resource.name))

    def restored(self) -> Iterator[Change]:
        """Changes from nothing to all that the control plane holds, for checkers that begin anew with it."""
        for (place, kind), objects in self.objects.items():
            if place == HOME:
                for key, found in objects.items():
                    yield Change(self.now(), place, kind, key, found, found, 0, deleted=False, restored=True)

    def _take(self, write: Write) -> None:
        record = write.record
        end = record.key.find("/", record.key.find("/", 1) + 1) + 1
        kind = record.key[:end]
        if kind == PODS and write.place != HOME:
            for served in self._pods.take(write):
                self._note_copy(write.seconds, write.place, TEMPLATES[0], served)
            return
        as_type = TYPES.get(kind)
        if as_type is None and kind not in OTHERS and not kind.endswith(CUSTOM):
            return
        namespace, _, name = record.key[end:].partition("/")
        key = Key(namespace, name)
        objects = self.objects.setdefault((write.place, kind), {})
        old = objects.get(key)
        last = decode(record.value, as_type) if as_type is not None else decode_manifest(record.value)
        new: Any = None if record.deleted else last
        if new is None:
            objects.pop(key, None)
        else:
            objects[key] = new
        if kind in OTHERS and write.place != HOME:
            self._note_copy(write.seconds, write.place, kind, key)
        elif kind == WORKS:
            self._note_owner(key, new)
        change = Change(write.seconds, write.place, kind, key, old, new, record.revision, record.deleted)
        for reader in self._readers if not write.restored else ():
            reader(change)

    def _note_copy(self, seconds: float, place: str, kind: str, key: Key) -> None:
        """The replicas that are ready; 1 for what has none, -1 for what is not there, or is not ours."""
        manifest = self.of(kind, place).get(key)
        ready = -1
        if manifest is not None and is_ours(manifest) and "deletionTimestamp" not in manifest["metadata"]:
            ready = self._ready_replicas(place, kind, key, manifest)
        self._copies.setdefault((place, kind, key), Copies()).note(seconds, ready)

    def _ready_replicas(self, place: str, kind: str, key: Key, manifest: Manifest) -> int:
        if kind == SCRIPTED:
            status: Manifest = manifest.get("status") or {}
            return status.get("readyReplicas", 0)
        if kind == OPERATED:
            return int(is_told_ready(manifest))
        return self._pods.count(place, key) if kind == TEMPLATES[0] else 1

    def _note_owner(self, key: Key, new: Work | None) -> None:
        owner = owner_of(new) if new is not None else None
        before = self._owners.pop(key, None)
        if before is not None and not is_equal(before, owner):
            self._works_of[before].pop(cluster_of_execution_space(key.namespace), None)
        if owner is not None:
            self._owners[key] = owner
            self._works_of.setdefault(owner, {})[cluster_of_execution_space(key.namespace)] = key

    def _forget(self, place: str) -> None:
        """The contents of a place are others now; what a member ran is gone."""
        for objects in [o for (at, _), o in self.objects.items() if at == place]:
            objects.clear()
        self._pods.forget(place, self.now())
        for (at, _, _), copies in self._copies.items():
            if at == place:
                copies.note(self.now(), -1)
        if place == HOME:
            self._works_of.clear()
            self._owners.clear()


def owner_of(work: Work) -> Key | None:
    """The binding that a Work belongs to, of either kind."""
    return RESOURCE_BINDING.key_of_work(work) or CLUSTER_RESOURCE_BINDING.key_of_work(work)


def is_ours(manifest: Manifest) -> bool:
    """Tells whether it carries the identity of a Work."""
    return WORK_NAME_ANNOTATION in annotations_of(manifest)


def is_execution_space(namespace: str) -> bool:
    return namespace.startswith(EXECUTION_SPACE_PREFIX)


def asks_otherwise(change: Change) -> bool:
    """Tells whether another spec than before is written: a new object, one that is gone, or another generation."""
    if change.restored or change.old is None or change.new is None:
        return True
    old, new = change.old.metadata, change.new.metadata
    return (old.uid, old.generation) != (new.uid, new.generation)
