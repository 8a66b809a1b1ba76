"""Requirements of a dependant: which objects its template needs beside it, and in which clusters they have to be."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta

from kubeapi.codec import encode
from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import DEPENDENCIES_ANNOTATION, DEPENDENCIES_DISTRIBUTOR_FINALIZER
from leeward.api.work import BindingResource, ResourceBinding, TargetCluster, Work
from leeward.core.copies.availability import availability
from leeward.core.eviction.shared_resources import lets_shared_go
from leeward.core.propagation.reach import Reach, is_own_in_each_cluster, reach_problems
from leeward.core.scheduling.affinity import is_in_any_term

MOST_BYTES = 192 * 1024
"""Bytes of the annotation that lists dependencies: all annotations of an object have 256 KiB."""
_ANY_NAME = "any"
LONGEST_WAIT = timedelta(seconds=15)
"""Time that a new copy waits at most for its dependencies. One that a member refuses, or does not report, holds it up
no longer: the copy may run without."""


def follows(binding: ResourceBinding) -> bool:
    """Tells whether objects that the binding's template names go where the template goes."""
    return bool(binding.spec.propagate_deps)


def is_named(kind: str, name: str, dependencies: Iterable[DependentObjectReference]) -> bool:
    """Tells whether one of the dependencies may mean an object; a selection by labels may mean any of its kind."""
    return any(each.kind == kind and each.name in ("", name) for each in dependencies)


def names_own_of_each_cluster(dependency: DependentObjectReference) -> bool:
    return is_own_in_each_cluster(dependency.api_version, dependency.kind, dependency.name)


def dependency_problem(dependency: DependentObjectReference, namespace: str, reach: Reach) -> str:
    """Problem that keeps a dependency from being propagated, with the way out; empty when nothing does.

    It is read with the control plane's rights. So it must be something that the dependant's own namespace may have
    propagated: `namespace` is the dependant's.
    """
    if bool(dependency.name) == (dependency.label_selector is not None):
        return _told(dependency, "give it either a name or a labelSelector")
    resource = BindingResource(
        api_version=dependency.api_version,
        kind=dependency.kind,
        namespace=dependency.namespace,
        name=dependency.name or _ANY_NAME,
    )
    problems = reach_problems(resource, namespace, reach)
    return _told(dependency, "; ".join(problem.message for problem in problems)) if problems else ""


def required_clusters(binding: ResourceBinding, holding: Collection[str]) -> tuple[TargetCluster, ...]:
    """The clusters in which dependencies have to be.

    They are the targets, and the clusters that are being left with a copy that is kept. Those that are still `holding`
    a Work of the binding count, too, also one that is being deleted: dependencies leave after the copy. Replicas are
    those of the targets. Holds: S1, S15.

    Karmada: differs, it names the targets only, so that dependencies are gone before the copy is.
    """
    needed: dict[str, TargetCluster] = {}
    if binding.metadata.deletion_timestamp is None:
        needed = {target.name: target for target in binding.spec.clusters}
        for task in binding.spec.graceful_eviction_tasks:
            if task.purge_rules.keeps_copy:
                needed.setdefault(task.from_cluster, TargetCluster(name=task.from_cluster))
    for name in sorted(holding):
        needed.setdefault(name, TargetCluster(name=name))
    return tuple(needed.values())


def clusters_with_data(
    before: Iterable[TargetCluster],
    dependant: ResourceBinding | None,
    holding: Collection[str],
    fleet: Mapping[str, Cluster],
) -> tuple[TargetCluster, ...]:
    """The clusters of `before` where a shared object stays although nothing needs it there any more.

    A claim does not leave a cluster because its workload was evicted, placed elsewhere, deleted or replaced, or names
    it no more: the data would be gone. It goes with its own template, and leaves where the user's placement does not
    let the cluster in any more. `before` is where `dependant` needed it, None when that is gone; `holding` are the
    clusters that have a Work of it. Holds: S12. Karmada deletes it.
    """
    if dependant is not None and lets_shared_go(dependant):
        return ()
    return tuple(target for target in before if _may_be_in(dependant, target.name, holding, fleet))


def is_done_with(
    work: Work | None,
    named: Iterable[DependentObjectReference],
    cluster: Cluster | None,
    replicas: int,
    dependency: tuple[str, str, str],
) -> bool:
    """Tells whether the copy that `work` describes needs an object no more that its template named before.

    That is so when the Work does not name it, and the copy is seen healthy by the present Work: then no earlier Pod is
    left. `named` are the objects that the Work names, `dependency` is apiVersion, kind and name. Holds: S1.
    """
    if work is None:
        return True
    return all(_identity(each) != dependency for each in named) and availability(work, cluster, replicas).is_whole


def dependencies_text(dependencies: Iterable[DependentObjectReference]) -> str:
    """Text of the annotation of a dependant."""
    return encode(list(dependencies)).decode()


def size_problem(dependencies: Sequence[DependentObjectReference]) -> str:
    """Problem of a template that names too much, with the way out; empty where it does not."""
    size = len(dependencies_text(dependencies))
    if size <= MOST_BYTES:
        return ""
    return (
        f"it names {len(dependencies)} objects, whose list has {size} bytes of at most {MOST_BYTES}: no more of them "
        "follow; name fewer, or propagate them by a policy of their own, without propagateDeps"
    )


def marks_patch(binding: ResourceBinding, dependencies: Iterable[DependentObjectReference]) -> Manifest:
    """Patch that gives a dependant its annotation and finalizer; empty when it has them."""
    metadata, text = binding.metadata, dependencies_text(dependencies)
    patch: Manifest = {}
    if metadata.annotations.get(DEPENDENCIES_ANNOTATION) != text:
        patch["annotations"] = {DEPENDENCIES_ANNOTATION: text}
    if DEPENDENCIES_DISTRIBUTOR_FINALIZER not in metadata.finalizers:
        patch["finalizers"] = [*metadata.finalizers, DEPENDENCIES_DISTRIBUTOR_FINALIZER]
    return {"metadata": patch} if patch else {}


def release_patch(binding: ResourceBinding) -> Manifest:
    """Patch that takes annotation and finalizer off a binding that nothing follows; empty when it has none."""
    metadata = binding.metadata
    patch: Manifest = {}
    if DEPENDENCIES_ANNOTATION in metadata.annotations and metadata.deletion_timestamp is None:
        patch["annotations"] = {DEPENDENCIES_ANNOTATION: None}
    if DEPENDENCIES_DISTRIBUTOR_FINALIZER in metadata.finalizers:
        patch["finalizers"] = [each for each in metadata.finalizers if each != DEPENDENCIES_DISTRIBUTOR_FINALIZER]
    return {"metadata": patch} if patch else {}


def _may_be_in(
    binding: ResourceBinding | None, name: str, holding: Collection[str], fleet: Mapping[str, Cluster]
) -> bool:
    """A cluster that is not listed is not gone as long as it has a Work: unjoining takes that away."""
    cluster = fleet.get(name)
    if cluster is None:
        return name in holding
    if cluster.is_being_deleted:
        return False
    return binding is None or is_in_any_term(binding.spec, cluster)


def _identity(dependency: DependentObjectReference) -> tuple[str, str, str]:
    return dependency.api_version, dependency.kind, dependency.name


def _told(dependency: DependentObjectReference, problem: str) -> str:
    name = "/".join(filter(None, (dependency.namespace, dependency.name)))
    return f"{dependency.kind} {name} does not follow: {problem}"


def is_refused(work: Work | None) -> bool:
    """Tells whether a cluster lacks the object of this Work: it refuses it, or has somebody else's. An unchanged
    earlier object is had."""
    if work is None or work.metadata.deletion_timestamp is not None or work.applied is None:
        return False
    return work.applied.status == "False" and not work.status.manifest_statuses


def is_in_place(attached: ResourceBinding | None, work: Work | None, cluster: str, needed: Collection[str]) -> bool:
    """Tells whether an object that there is in the control plane is in `cluster`, as far as it can get there.

    A new copy waits for it: a Pod that comes before its ConfigMap does not run. Karmada: differs, it writes both at
    once.

    `attached` is the object's binding, `work` its Work in the cluster, `needed` where the binding says that the
    dependant needs it. A refusal is an answer, too; and an object that is suspended, or being deleted, is not
    waited for. Holds: S15.
    """
    if attached is None:
        return False
    if attached.metadata.deletion_timestamp is not None:
        return True
    is_placed = cluster in needed or any(target.name == cluster for target in attached.spec.clusters)
    if not is_placed or work is None or work.metadata.deletion_timestamp is not None:
        return False
    return bool(work.spec.suspend_dispatching) or work.applied is not None
