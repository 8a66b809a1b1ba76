"""Objects that run nothing and that a copy beside them may need, as Services, Roles and Secrets: they leave after it.

A copy that leaves a cluster needs there whatever has come with it: all in its namespace, and all of its cluster-wide
policy. Which of them it needs, nobody can tell of every kind. A Service that selects other Pods is the exception.
"""

from typing import Any

from controller_runtime import Index, Informer
from kubeapi.meta import labels_of
from kubeapi.unstructured import text_at
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL, cluster_of_execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Binding, Work, is_application
from leeward.core.copies.job_copies import is_finished_job
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.execution.addresses import may_be_behind
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING, BindingKind
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane


class Carriers:
    """Follows Works by cluster and namespace."""

    def __init__(self, plane: ControlPlane) -> None:
        self._clock = plane.clock
        self._works = plane.informers.of(WORKS)
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        kinds = (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING)
        self._bindings: dict[BindingKind, Informer[Any]] = {kind: plane.informers.of(kind.resource) for kind in kinds}
        self._beside = Index(self._works, _place)

    def carries(self, work: Work) -> bool:
        """Tells whether an application in the cluster of `work` may need its objects: one of the same policy, or one
        that leaves as well. A Job that has finished, and a copy that is being deleted, need nothing any more."""
        space, namespace = _place(work)
        users = self._beside.get((space, namespace)) if namespace else self._works.list(space)
        manifests = work.spec.workload.manifests
        return any(
            (_policies(each) & _policies(work) or self._leaves(each))
            and self._runs(each)
            and any(may_be_behind(manifest, each.spec.workload.manifests) for manifest in manifests)
            for each in users
            if each.metadata.deletion_timestamp is None or each.is_removal_held
        )

    def _leaves(self, user: Work) -> bool:
        """Tells whether a copy is to leave its cluster: its Work waits for that, or its binding says so, or a taint
        that it does not tolerate for ever drives it out."""
        cluster, binding = cluster_of_execution_space(user.namespace), self._binding(user)
        if user.is_leaving or user.is_removal_held:
            return True
        if binding is None:
            return False
        home, spec = self._fleet.get(cluster), binding.spec
        return (
            any(task.from_cluster == cluster for task in spec.graceful_eviction_tasks)
            or all(target.name != cluster for target in spec.clusters)
            or (home is not None and decide_stay(home.taints, spec.tolerations, self._clock.now()).due is not None)
        )

    def _runs(self, user: Work) -> bool:
        binding = self._binding(user)
        return binding is not None and is_application(binding) and not is_finished_job(user)

    def _binding(self, work: Work) -> Binding | None:
        for kind, bindings in self._bindings.items():
            if (key := kind.key_of_work(work)) is not None:
                return bindings.get(key.name, key.namespace)
        return None


def _place(work: Work) -> tuple[str, str]:
    """The execution space of a Work, and the namespace of its object."""
    manifests = work.spec.workload.manifests
    return work.namespace, text_at(manifests[0], "metadata", "namespace") if manifests else ""


def _policies(work: Work) -> set[str]:
    manifests, ids = work.spec.workload.manifests, (POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL)
    return {text for each in manifests for name in ids if (text := labels_of(each).get(name, ""))}
