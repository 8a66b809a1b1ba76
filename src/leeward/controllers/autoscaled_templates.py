"""Two controllers for Deployments that are scaled in their members: the mark of scale targets, and the replicas syncer.

Both write to templates, run only where --controllers names them, and decide by `core.propagation.autoscaled`.
Karmada: pkg/controllers/hpascaletargetmarker, pkg/controllers/deploymentreplicassyncer.
"""

from datetime import datetime

from controller_runtime import Key, key_of
from kubeapi.meta import Manifest
from leeward.api.names import binding_name
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding
from leeward.core.propagation.autoscaled import replicas_to_follow, scale_target_patch
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.templates import TemplateKey, Templates

AUTOSCALERS = ("autoscaling/v2", "HorizontalPodAutoscaler")
DEPLOYMENTS = ("apps/v1", "Deployment")


class ScaleTargetMarker:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._templates = Templates(plane.server)
        self._follows_autoscalers = False
        self._controller = plane.controller("hpa-scale-target-marker", self.reconcile, workers=1)

    def start(self) -> None:
        self._templates.on_change(lambda key, _: self._controller.queue.add(key.key.namespace))
        self._controller.queue.add("")
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, namespace: str) -> datetime | None:
        """All Deployments of a namespace, against all its autoscalers; the empty one only has both kinds followed."""
        resource, deployments = await self._templates.follow(*DEPLOYMENTS)
        _, autoscalers = await self._templates.follow(*AUTOSCALERS)
        if not self._follows_autoscalers:
            self._follows_autoscalers = True
            autoscalers.on_change(self._autoscaler_changed)
        await deployments.wait_synced()
        await autoscalers.wait_synced()
        if not namespace:
            return None
        there = tuple(autoscalers.list(namespace))
        for template in deployments.list(namespace):
            patch = scale_target_patch(template, there)
            if patch:
                name, version = key_of(template).name, template["metadata"]["resourceVersion"]
                written = await self._plane.client.patch(resource, name, patch, namespace, resource_version=version)
                deployments.remember(written)
        return None

    def _autoscaler_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        """Queues the namespace, also of an autoscaler that is deleted: its target is scaled by nobody then."""
        for autoscaler in (old, new):
            if autoscaler is not None:
                self._controller.queue.add(key_of(autoscaler).namespace)


class DeploymentReplicasSyncer:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._templates = Templates(plane.server)
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._clusters = plane.informers.of(CLUSTERS)
        self._fleet = ClustersByName(self._clusters)
        self._controller = plane.controller("deployment-replicas-syncer", self.reconcile, workers=1)

    def start(self) -> None:
        self._templates.on_change(self._template_changed)
        self._bindings.on_change(self._binding_changed)
        self._controller.queue.add(Key("", ""))
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        """The Deployment of that name; the empty one only has the kind followed."""
        resource, deployments = await self._templates.follow(*DEPLOYMENTS)
        await deployments.wait_synced()
        await self._bindings.wait_synced()
        await self._clusters.wait_synced()
        template: Manifest | None = deployments.get(key.name, key.namespace)
        binding = self._bindings.get(binding_name(DEPLOYMENTS[1], key.name), key.namespace)
        if template is None or binding is None:
            return None
        replicas = replicas_to_follow(template, binding, self._fleet)
        if replicas is not None:
            patch, version = {"spec": {"replicas": replicas}}, template["metadata"]["resourceVersion"]
            written = await self._plane.client.patch(resource, key.name, patch, key.namespace, resource_version=version)
            deployments.remember(written)
        return None

    def _template_changed(self, key: TemplateKey, _: bool) -> None:
        self._controller.queue.add(key.key)

    def _binding_changed(self, _: ResourceBinding | None, new: ResourceBinding | None) -> None:
        resource = new.spec.resource if new is not None else None
        if resource is not None and (resource.api_version, resource.kind) == DEPLOYMENTS:
            self._controller.queue.add(Key(resource.namespace, resource.name))
