"""The namespace sync controller: a namespace of the control plane appears in every member, as a Work like any other.

ClusterOverridePolicies that select the Namespace are carried out, and a change of them is followed. A Work that they
never touched stays as it is.

Karmada: pkg/controllers/namespace; same, except that a Work is owned by its Namespace, so that both go together.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller_runtime import Key
from kubeapi.core import NAMESPACES, Namespace
from kubeapi.meta import Manifest, OwnerReference
from kubeclient import AlreadyExists
from leeward.api.cluster import Cluster
from leeward.api.names import (
    APPLIED_CLUSTER_OVERRIDES_ANNOTATION,
    APPLIED_OVERRIDES_ANNOTATION,
    EXECUTION_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    RENDERED_ANNOTATION,
    SKIP_NAMESPACE_LABEL,
    TEMPLATE_UID_ANNOTATION,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.controllers.rendering.override_rendering import OverrideRendering
from leeward.controllers.rendering.rendered_admission import RenderedAdmission
from leeward.core.overrides.rendering import Overridden, OverrideFailure
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import FOREIGN_DELETION_REST, keep_objects

from leeward.core.execution.ownership import stamp  # isort: skip

COMPONENT = "namespace-sync-controller"
_APPLIED = (APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION)
SKIPPED_ALWAYS = ("karmada-system", "karmada-cluster", "default")


@dataclass(frozen=True, slots=True)
class NamespaceSyncSettings:
    """`skipped` are regular expressions of whole names: --skipped-propagating-namespaces."""

    skipped: tuple[str, ...] = ("kube-.*",)


class NamespaceSyncController:
    def __init__(
        self, plane: ControlPlane, settings: NamespaceSyncSettings, admission: RenderedAdmission | None = None
    ) -> None:
        self._plane = plane
        self._skipped = [re.compile(pattern) for pattern in settings.skipped]
        self._namespaces = plane.informers.of(NAMESPACES)
        self._clusters = plane.informers.of(CLUSTERS)
        self._last_gone: dict[str, tuple[str, datetime]] = {}
        """Work that has gone last, and when, by execution space."""
        self._works = plane.informers.of(WORKS)
        self._recorder = plane.recorder("override-manager")
        self._controller = plane.controller(COMPONENT, self.reconcile, workers=2)
        self._overrides = OverrideRendering(
            plane,
            COMPONENT,
            self._namespaces,
            _template,
            self._overrides_changed,
            kind_of=lambda _: ("v1", "Namespace"),
            admission=admission,
        )

    def start(self) -> None:
        self._namespaces.on_change(self._namespace_changed)
        self._clusters.on_change(self._cluster_changed)
        self._works.on_change(self._work_changed)
        self._overrides.start()
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        for informer in (self._namespaces, self._clusters, self._works):
            await informer.wait_synced()
        namespace = self._namespaces.get(name)
        if namespace is None or namespace.metadata.deletion_timestamp is not None or not self._is_propagated(namespace):
            return None
        spaces = [each.name for each in self._clusters.list() if self._takes_works(each)]
        work = work_name("Namespace", name, "")
        present = {c: found for c in spaces if (found := self._works.get(work, execution_space(c))) is not None}
        manifest = _manifest(namespace)
        rendering = await self._overrides.render(_template(namespace), dict.fromkeys(spaces, manifest), present)
        for cluster, rendered in rendering.manifests.items():
            await self._ensure_work(namespace, cluster, rendered)
        for cluster, failure in rendering.failures.items():
            said = f"Apply override policies for cluster({cluster}) failed: {_told(failure)}"
            self._recorder.warning(NAMESPACES, namespace, "ApplyOverridePolicyFailed", said)
        return rendering.look_at

    def _takes_works(self, cluster: Cluster) -> bool:
        has_space = self._namespaces.get(execution_space(cluster.name)) is not None
        return has_space and not cluster.is_being_deleted and self._plane.share.owns_cluster(cluster.name)

    async def _ensure_work(self, namespace: Namespace, cluster: str, rendered: Overridden) -> None:
        name, space = work_name("Namespace", namespace.name, ""), execution_space(cluster)
        present = self._works.get(name, space)
        if present is not None and present.metadata.deletion_timestamp is not None:
            await keep_objects(self._plane.client, present)
        elif present is not None:
            await self._bring_up_to_date(namespace, present, rendered)
        else:
            try:
                self._works.remember(await self._plane.client.create(WORKS, _work(namespace, space, rendered), space))
            except AlreadyExists:
                return

    async def _bring_up_to_date(self, namespace: Namespace, work: Work, rendered: Overridden) -> None:
        """Writes a Work of the namespace anew when other overrides apply than those that it was made with."""
        recorded = {key: work.metadata.annotations.get(key) for key in _APPLIED}
        applied = {key: rendered.annotations.get(key) for key in _APPLIED}
        if recorded == applied or not any(map(_is_of(namespace), work.metadata.owner_references)):
            return
        manifest = stamp(rendered.manifest, work.namespace, work.name, None, _origin(namespace))
        change: Manifest = {
            "metadata": {"annotations": {**applied, RENDERED_ANNOTATION: "true"}},
            "spec": {"workload": {"manifests": [manifest]}},
        }
        version = work.metadata.resource_version
        patched = await self._plane.client.patch(WORKS, work.name, change, work.namespace, resource_version=version)
        self._works.remember(patched)

    def _is_propagated(self, namespace: Namespace) -> bool:
        name = namespace.name
        return not (
            name in SKIPPED_ALWAYS
            or name.startswith(EXECUTION_SPACE_PREFIX)
            or namespace.metadata.labels.get(SKIP_NAMESPACE_LABEL) == "true"
            or any(pattern.fullmatch(name) for pattern in self._skipped)
        )

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is None:
            return
        if new.name.startswith(EXECUTION_SPACE_PREFIX):
            self._add_all()
        else:
            self._controller.queue.add(new.name)

    def _overrides_changed(self, key: Key) -> None:
        self._controller.queue.add(key.name)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None or self._overrides.may_change(old, new):
            self._add_all()

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """A Work that goes, perhaps that of an earlier namespace of this name, is made again.

        It rests before where other Works of its cluster have gone just so: then somebody empties the cluster.
        """
        gone = new or old
        rests = old is not None and new is None and self._is_emptied(old)
        if gone is not None and (new is None or new.metadata.deletion_timestamp is not None):
            at = self._plane.clock.now() + (FOREIGN_DELETION_REST if rests else timedelta())
            for owner in gone.metadata.owner_references:
                if owner.kind == "Namespace":
                    self._controller.queue.add_at(owner.name, at)

    def _is_emptied(self, gone: Work) -> bool:
        """Tells whether a Work of another name has gone from the same execution space a moment before."""
        now = self._plane.clock.now()
        name, at = self._last_gone.get(gone.namespace, ("", now))
        self._last_gone[gone.namespace] = gone.name, now
        return name not in ("", gone.name) and now - at < FOREIGN_DELETION_REST

    def _add_all(self) -> None:
        for namespace in self._namespaces.list():
            if not namespace.name.startswith(EXECUTION_SPACE_PREFIX):
                self._controller.queue.add(namespace.name)


def _work(namespace: Namespace, space: str, rendered: Overridden) -> Manifest:
    name = work_name("Namespace", namespace.name, "")
    metadata: Manifest = {
        "name": name,
        "namespace": space,
        "finalizers": [EXECUTION_CONTROLLER_FINALIZER],
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "name": namespace.name,
                "uid": namespace.metadata.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    if rendered.annotations:
        metadata["annotations"] = dict(rendered.annotations)
    manifest = stamp(rendered.manifest, space, name, None, _origin(namespace))
    return {"metadata": metadata, "spec": {"workload": {"manifests": [manifest]}}}


def _origin(namespace: Namespace) -> Mapping[str, str]:
    return {TEMPLATE_UID_ANNOTATION: namespace.metadata.uid}


def _template(namespace: Namespace) -> Manifest:
    """Namespace as selectors of override policies see it, with all labels."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace.name, "labels": dict(namespace.metadata.labels)},
    }


def _manifest(namespace: Namespace) -> Manifest:
    labels = {k: v for k, v in namespace.metadata.labels.items() if not k.startswith("kubernetes.io/")}
    metadata: Manifest = {"name": namespace.name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _is_of(namespace: Namespace) -> Callable[[OwnerReference], bool]:
    return lambda owner: (owner.kind, owner.name) == ("Namespace", namespace.name)


def _told(failure: OverrideFailure) -> str:
    return failure.message if failure.policy is None else f"{failure.policy.name}: {failure.message}"
