"""Dependencies of applications in histories: objects that templates name as volumes, and who needs which."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from controller_runtime import Key
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from leeward.api.work import Binding, ResourceBinding, Work
from simulator.histories.checkers.scene import replicas_of
from simulator.histories.ground_truth import KINDS, GroundTruth, is_ours
from simulator.histories.manifests import CONFIG_MAPS, POLICIES, SHARED, placement
from simulator.histories.model import Plan, Provided

PROVIDED: Mapping[Provided, Resource[Manifest]] = {
    "ConfigMap": CONFIG_MAPS,
    "Secret": Resource.of_manifests("v1", "secrets", "Secret", True),
    "PersistentVolumeClaim": SHARED["PersistentVolumeClaim"],
}
_SOURCES: Mapping[Provided, tuple[str, str]] = {
    "ConfigMap": ("configMap", "name"),
    "Secret": ("secret", "secretName"),
    "PersistentVolumeClaim": ("persistentVolumeClaim", "claimName"),
}
"""Fields of a volume: that of its source, and the one that names the object."""
Named = tuple[str, str]
"""Kind and name of an object in the namespace of who names it."""


def provided(name: str, what: Provided, version: int) -> Manifest:
    if what == "PersistentVolumeClaim":
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return {"metadata": {"name": name}, "spec": claim}
    return {"metadata": {"name": name}, **contents(what, version)}


def contents(what: Provided, version: int) -> Manifest:
    """Contents that may change of it: nothing of a claim. Values of a Secret are base64."""
    return {} if what == "PersistentVolumeClaim" else {"data": {"version": f"{version:04}"}}


def provided_policy(name: str, what: Provided, clusters: tuple[str, ...]) -> tuple[Resource[Manifest], Manifest]:
    kind = PROVIDED[what]
    selector = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}
    spec = {"resourceSelectors": [selector], "placement": placement(Plan(division="Duplicated", clusters=clusters))}
    return POLICIES, {"metadata": {"name": name}, "spec": spec}


def volumes(reads: Collection[str], known: Mapping[str, Provided]) -> list[dict[str, Any]]:
    """Volumes of a Pod that reads these objects."""
    sources = ((name, *_SOURCES[known[name]]) for name in reads)
    return [{"name": name, source: {field: name}} for name, source, field in sources]


def named_in(manifest: ReadOnlyManifest) -> frozenset[Named]:
    """Objects that a manifest names."""
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    return frozenset(
        (kind, volume[source][field])
        for volume in pod.get("volumes") or ()
        for kind, (source, field) in _SOURCES.items()
        if source in volume
    )


def named_by(work: Work) -> frozenset[Named]:
    return frozenset[Named]().union(*(named_in(manifest) for manifest in work.spec.workload.manifests))


def follows(binding: ResourceBinding) -> bool:
    return bool(binding.spec.propagate_deps)


def runs_on_foreign(truth: GroundTruth, binding: ResourceBinding, cluster: str) -> bool:
    """Tells whether an object that follows the binding there is somebody else's."""
    template = truth.template_of(binding) if follows(binding) else None
    named = named_in(template) if template is not None else ()
    namespace = binding.spec.resource.namespace
    found = (truth.of(KINDS[kind], cluster).get(Key(namespace, name)) for kind, name in named)
    return any(each is not None and not is_ours(each) for each in found)


def needed_in(truth: GroundTruth, needed: Named, namespace: str) -> set[str]:
    """The clusters where bindings of the namespace need an object: their targets, and where they have a Work."""
    found: set[str] = set()
    for key, binding in truth.bindings.items():
        template = truth.template_of(binding)
        if key.namespace != namespace or not follows(binding) or template is None:
            continue
        if needed in named_in(template):
            found |= set(replicas_of(binding))
        found |= {cluster for cluster, work in truth.works_of(key).items() if needed in named_by(work)}
    return found


def has_to_do_without(truth: GroundTruth, binding: Binding, copy: Manifest, name: str) -> bool:
    """Tells whether the copy lacks an object that it names, and its policy does not propagate dependencies."""
    if not isinstance(binding, ResourceBinding) or follows(binding):
        return False
    return any(there(truth, needed, binding.namespace, name) is None for needed in named_in(copy))


def is_used_beside(truth: GroundTruth, binding: Binding, work: Work) -> bool:
    """Tells whether a Work in the same cluster, which is not being deleted, names the object."""
    named = (binding.spec.resource.kind, binding.spec.resource.name)
    return any(
        named in named_by(other)
        for other in truth.works.values()
        if other.namespace == work.namespace and other.metadata.deletion_timestamp is None
    )


def is_foreign(work: Work | None) -> bool:
    """Tells whether the object that the Work is for is there, and is somebody else's."""
    return work is not None and work.applied is not None and "is not managed by this Work" in work.applied.message


def doubted_in(truth: GroundTruth, attached: ResourceBinding) -> Iterator[str]:
    """Clusters where somebody else's object takes the place of a copy. Nobody knows that no Pod of an earlier copy is
    left: the dependencies of that copy stay until the user removes the object (S1)."""
    for each in attached.spec.required_by:
        works = truth.works_of(Key(each.namespace, each.name))
        yield from (target.name for target in each.clusters if is_foreign(works.get(target.name)))


def there(truth: GroundTruth, needed: Named, namespace: str, place: str) -> Manifest | None:
    kind, name = needed
    return truth.of(KINDS[kind], place).get(Key(namespace, name))
