"""The Works of a binding: for each cluster that needs the template, the manifest as it must be there.

Clusters that need one: the targets, those of the bindings that depend on this one (`requiredBy`), and those that are
being left but not `Directly`: there the copy stays as it is until its replacement is healthy (Holds: S1).

Karmada: pkg/controllers/binding/common.go (`ensureWork`); same, except that Karmada leaves the Works of clusters being
left untouched, and here they follow the template. `preserveResourcesOnDeletion` differs, too: Karmada preserves each
copy whose Work goes. Here a workload is preserved as a whole, when its template or binding is deleted. A single copy
that scheduling or an eviction takes away is removed, for it would run on uncounted.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from kubeapi.unstructured import int_at, text_at, value_at
from leeward.api.names import (
    APPLIED_CLUSTER_OVERRIDES_ANNOTATION,
    APPLIED_OVERRIDES_ANNOTATION,
    AWAITED_GATE_ANNOTATION,
    BINDING_ID_LABEL,
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_ID_LABEL,
    CLUSTER_BINDING_NAME_ANNOTATION,
    CONFLICT_RESOLUTION_ANNOTATION,
    DEPENDENCIES_REFUSED_ANNOTATION,
    EXECUTION_CONTROLLER_FINALIZER,
    PRESERVED_ANNOTATION,
    REMOVAL_HELD_ANNOTATION,
    REMOVAL_ORDERED_ANNOTATION,
    TEMPLATE_GENERATION_ANNOTATION,
    TEMPLATE_UID_ANNOTATION,
    WORK_ID_LABEL,
    execution_space,
    work_name,
)
from leeward.api.rollout import REVISION_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.eviction.state_preservation import state_to_inject
from leeward.core.eviction.tasks import ended_by_a_person
from leeward.core.execution.conflict_resolution import conflict_resolution
from leeward.core.execution.given_ports import as_asked, without_unasked
from leeward.core.execution.ownership import stamp, template_uids
from leeward.core.interpreter import prune, revise_replicas
from leeward.core.left_works import LEFT_ANNOTATION
from leeward.core.overrides.rendering import Overridden
from leeward.core.scheduling.division import divide

API_VERSION = "work.karmada.io/v1alpha1"
BINDING_MARKS = frozenset(
    {
        BINDING_ID_LABEL,
        BINDING_NAME_ANNOTATION,
        BINDING_NAMESPACE_ANNOTATION,
        CLUSTER_BINDING_ID_LABEL,
        CLUSTER_BINDING_NAME_ANNOTATION,
    }
)
"""Labels and annotations of a Work that name its binding."""
WORK_MARKS = BINDING_MARKS | {
    APPLIED_CLUSTER_OVERRIDES_ANNOTATION,
    APPLIED_OVERRIDES_ANNOTATION,
    AWAITED_GATE_ANNOTATION,
    DEPENDENCIES_REFUSED_ANNOTATION,
    LEFT_ANNOTATION,
    REMOVAL_HELD_ANNOTATION,
    REMOVAL_ORDERED_ANNOTATION,
    REVISION_ANNOTATION,
}
"""Labels and annotations of a Work that go when they are not written again."""


def build_works(
    binding: Binding,
    template: ReadOnlyManifest,
    work_ids: Mapping[str, str] | None = None,
    new_id: Callable[[], str] | None = None,
    rendered: Mapping[str, Overridden] | None = None,
    present: Mapping[str, Work] | None = None,
    *,
    inject: bool | Mapping[str, Work] = True,
) -> dict[str, Manifest]:
    """The Work manifests by cluster.

    `present` are the Works that exist, by cluster, and keep their permanent ids, unless `work_ids` has others; `new_id`
    makes those of the others. Without them the id is left to admission. `rendered` are the manifests of
    `manifests_by_cluster` after overrides: a cluster that is not among them gets no Work. `inject` is the gate
    StatefulFailoverInjection; where it is off, the Works by cluster that keep the state which they have.
    """
    if rendered is None:
        rendered = {name: Overridden(manifest) for name, manifest in manifests_by_cluster(binding, template).items()}
    works: dict[str, Manifest] = {}
    shared, pruned = _SharedParts.of(binding, template), dict[int, Manifest]()
    for cluster, overridden in rendered.items():
        state = state_to_inject(binding, cluster)
        if inject is not True:
            state = _state_in(inject.get(cluster) if inject else None, state)
        work = (present or {}).get(cluster)
        kept_id = (work_ids or {}).get(cluster) or (work.metadata.labels.get(WORK_ID_LABEL, "") if work else "")
        work_id = kept_id or (new_id() if new_id else "")
        same = id(overridden.manifest)
        if same not in pruned:
            pruned[same] = prune(overridden.manifest)
        manifest = without_unasked(pruned[same], template, work)
        works[cluster] = shared.work(manifest, overridden.annotations, cluster, work_id, state)
    return works


def build_work(
    binding: Binding,
    template: ReadOnlyManifest,
    rendered: Mapping[str, Overridden],
    cluster: str,
    work_id: str,
    *,
    inject: bool | Mapping[str, Work] = True,
) -> Manifest:
    """The Work of one cluster, with this permanent id; as `build_works` makes it."""
    return build_works(binding, template, {cluster: work_id}, rendered=rendered, inject=inject)[cluster]


def is_of_wanted_template(work: Work, manifest: ReadOnlyManifest) -> bool:
    """Tells whether a Work was made of the template that the Work `manifest` is made of, by uid; True where either has
    none.

    It decides whether the objects of a Work that is being deleted are left to the next Work of its name.
    """
    made = template_uids(work.spec.workload.manifests)
    wanted = template_uids(manifest["spec"]["workload"]["manifests"])
    return not made or not wanted or made == wanted


def is_of_deleted_template(work: Work, binding: Binding) -> bool:
    """Tells whether a Work was made of a template that a user has deleted; the binding is of a later one of its name.

    Another uid alone does not say so: a template that is imported into a restored control plane has another one, too.
    But its Work is asked to go, if at all, after its binding was made.
    """
    made, uid = template_uids(work.spec.workload.manifests), binding.spec.resource.uid
    asked_at, bound_at = work.metadata.deletion_timestamp, binding.metadata.creation_timestamp
    is_asked_before_binding = asked_at is not None and bound_at is not None and asked_at <= bound_at
    return is_asked_before_binding and bool(made and uid) and uid not in made


def asks_for(binding: Binding, work: Work, cluster: str) -> bool:
    """Tells whether a binding that lives wants the objects of this Work, of the cluster, there. Then somebody else has
    deleted the Work alone."""
    made, uid = template_uids(work.spec.workload.manifests), binding.spec.resource.uid
    is_of_template = not made or not uid or uid in made
    is_alive = binding.metadata.deletion_timestamp is None
    return is_alive and is_of_template and cluster in wanted_replicas(binding.spec)


def _state_in(work: Work | None, state: Mapping[str, str]) -> Mapping[str, str]:
    """Part of the state that the Work's manifest has as labels."""
    labels = labels_of(work.spec.workload.manifests[0]) if work and work.spec.workload.manifests else {}
    return {name: value for name, value in state.items() if labels.get(name) == value}


def manifests_by_cluster(
    binding: Binding, template: ReadOnlyManifest, by_count: Mapping[int, Manifest] | None = None
) -> dict[str, ReadOnlyManifest]:
    """The template for each cluster that needs a Work, with the replicas that it is to have there.

    Clusters with the same share the manifest. `by_count` is the template with each number of replicas, where
    that is not what the rules of its kind make of it.
    """
    template, replicas = as_asked(template), wanted_replicas(binding.spec)
    completions = _completions(binding.spec, template, replicas)
    revised: dict[tuple[int, int | None], ReadOnlyManifest] = {}
    manifests: dict[str, ReadOnlyManifest] = {}
    for cluster, count in replicas.items():
        key = count, completions.get(cluster)
        if key not in revised:
            manifest = _revised(template, count, by_count or {}) if binding.spec.is_workload else template
            if cluster in completions:
                manifest = {**manifest, "spec": {**manifest["spec"], "completions": completions[cluster]}}
            revised[key] = manifest
        manifests[cluster] = revised[key]
    return manifests


def replicas_by_cluster(spec: ResourceBindingSpec) -> dict[str, int]:
    """The clusters that need a Work, with the replicas that each is to have; a target's own count comes first.

    A target of which a part is leaving has both until that has ended, or a person has ended it.
    """
    assigned = spec.assigned
    replicas = dict(assigned)
    for snapshot in spec.required_by:
        for target in snapshot.clusters:
            replicas.setdefault(target.name, target.replicas)
    for task in spec.graceful_eviction_tasks:
        if not task.purge_rules.keeps_copy:
            continue
        if task.from_cluster not in assigned:
            replicas.setdefault(task.from_cluster, _replicas_being_left(spec, task))
        elif spec.is_divided and task.suppress_deletion is not False:
            replicas[task.from_cluster] = assigned[task.from_cluster] + (task.replicas or 0)
    return replicas


def wanted_replicas(spec: ResourceBindingSpec) -> dict[str, int]:
    """The clusters that need a Work by now: not those whose eviction a person has ended."""
    unneeded = ended_by_a_person(spec) - needed_by_others(spec)
    return {name: n for name, n in replicas_by_cluster(spec).items() if name not in unneeded}


def _replicas_being_left(spec: ResourceBindingSpec, task: GracefulEvictionTask) -> int:
    """A task without a number was made when none were there, or all of them (Duplicated, or by someone else)."""
    if task.replicas is not None:
        return task.replicas
    strategy = spec.placement.replica_scheduling if spec.placement else None
    is_divided = strategy is not None and strategy.replica_scheduling_type == "Divided"
    return 0 if is_divided else spec.replicas


def _completions(
    spec: ResourceBindingSpec, template: ReadOnlyManifest, replicas: Mapping[str, int]
) -> Mapping[str, int]:
    """A divided Job's completions go with its replicas; those being left have a share of their own."""
    strategy = spec.placement.replica_scheduling if spec.placement else None
    if strategy is None or strategy.replica_scheduling_type != "Divided" or spec.replicas == 0:
        return {}
    if spec.resource.kind != "Job" or value_at(template, "spec", "completions") is None:
        return {}
    leaving = {task.from_cluster for task in spec.graceful_eviction_tasks} - {t.name for t in spec.clusters}
    staying = {cluster: count for cluster, count in replicas.items() if cluster not in leaving}
    total, uid = int_at(template, "spec", "completions"), text_at(template, "metadata", "uid")
    return {**divide(total, replicas, uid=uid), **divide(total, staying, uid=uid)}


@dataclass(frozen=True, slots=True)
class _SharedParts:
    """Parts that the Works of a binding have in common, found once for all clusters. `origin` is among the annotations
    of the manifest, `annotations` are those of the Work."""

    spec: ResourceBindingSpec
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    origin: Mapping[str, str]

    @staticmethod
    def of(binding: Binding, template: ReadOnlyManifest) -> "_SharedParts":
        name = work_name(template["kind"], template["metadata"]["name"], text_at(template, "metadata", "namespace"))
        resolution = {CONFLICT_RESOLUTION_ANNOTATION: conflict_resolution(binding.spec, template).annotation}
        labels, annotations = _marks(binding)
        preserved = {PRESERVED_ANNOTATION: "true"} if binding.spec.preserve_resources_on_deletion else {}
        origin = {**annotations, **_origin(template), **resolution, **preserved}
        return _SharedParts(binding.spec, name, labels, {**annotations, **resolution}, origin)

    def work(
        self, pruned: ReadOnlyManifest, applied: Mapping[str, str], cluster: str, work_id: str, state: Mapping[str, str]
    ) -> Manifest:
        """`applied` says which override policies were."""
        space, labels = execution_space(cluster), {**self.labels, **({WORK_ID_LABEL: work_id} if work_id else {})}
        return {
            "apiVersion": API_VERSION,
            "kind": "Work",
            "metadata": {
                "name": self.name,
                "namespace": space,
                "labels": labels,
                "annotations": {**self.annotations, **applied},
                "finalizers": [EXECUTION_CONTROLLER_FINALIZER],
            },
            "spec": {
                "workload": {"manifests": [stamp(pruned, space, self.name, {**state, **labels}, self.origin)]},
                "suspendDispatching": _is_suspended(self.spec, cluster),
                "preserveResourcesOnDeletion": _is_preserved(self.spec, cluster),
            },
        }


def _marks(binding: Binding) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations that name the binding."""
    if binding.namespace:
        labels = {BINDING_ID_LABEL: binding.metadata.labels.get(BINDING_ID_LABEL, "")}
        return labels, {BINDING_NAMESPACE_ANNOTATION: binding.namespace, BINDING_NAME_ANNOTATION: binding.name}
    labels = {CLUSTER_BINDING_ID_LABEL: binding.metadata.labels.get(CLUSTER_BINDING_ID_LABEL, "")}
    return labels, {CLUSTER_BINDING_NAME_ANNOTATION: binding.name}


def _origin(template: ReadOnlyManifest) -> dict[str, str]:
    """Origin of the manifest: which generation of which template."""
    generation = int_at(template, "metadata", "generation")
    dated = {TEMPLATE_GENERATION_ANNOTATION: str(generation)} if generation else {}
    return {TEMPLATE_UID_ANNOTATION: text_at(template, "metadata", "uid"), **dated}


def _is_suspended(spec: ResourceBindingSpec, cluster: str) -> bool:
    suspension = spec.suspension
    if suspension is None:
        return False
    on_clusters = suspension.dispatching_on_clusters
    return bool(suspension.dispatching) or (on_clusters is not None and cluster in on_clusters.cluster_names)


def _is_preserved(spec: ResourceBindingSpec, cluster: str) -> bool:
    """Tells whether objects stay in the cluster when their Work is deleted."""
    return bool(spec.preserve_resources_on_deletion) and not is_surplus(spec, cluster)


def needed_by_others(spec: ResourceBindingSpec) -> frozenset[str]:
    """The clusters where other bindings need what this one is for."""
    return frozenset(target.name for snapshot in spec.required_by for target in snapshot.clusters)


def is_surplus(spec: ResourceBindingSpec, cluster: str) -> bool:
    """Tells whether a copy of a workload in the cluster counts for nothing: it is no target, nor do others need it
    there. `preserveResourcesOnDeletion` keeps none of these."""
    is_target = any(target.name == cluster for target in spec.clusters)
    return spec.is_workload and not is_target and cluster not in needed_by_others(spec)


def is_purging(spec: ResourceBindingSpec, clusters: Collection[str]) -> bool:
    """Tells whether a copy that is purged Directly is not yet known to be gone; `clusters` have a Work. Holds: S7.

    What others need stays.
    """
    going = set(clusters) - needed_by_others(spec)
    return any(t.from_cluster in going and not t.purge_rules.keeps_copy for t in spec.graceful_eviction_tasks)


def _revised(template: ReadOnlyManifest, count: int, by_count: Mapping[int, Manifest]) -> Manifest:
    return by_count[count] if count in by_count else revise_replicas(template, count)
