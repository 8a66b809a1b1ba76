"""The autoscaler of Pods: HorizontalPodAutoscalers change how many replicas their targets have."""

from datetime import datetime, timedelta

from controller_runtime import Key
from kubeapi.codec import from_wire
from kubeapi.meta import LabelSelector, Manifest
from kubeapi.resource import Resource
from kubeapi.selectors import matches, selector_of
from kubeapi.unstructured import mapping_at
from kubecluster.kinds import AUTOSCALERS, DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from kubecluster.platform import Platform
from kubecluster.pod_usage import PodUsage
from kubecluster.rules.autoscaling import (
    SYNC_SECONDS,
    PodLoad,
    Recommendation,
    Scaling,
    autoscaler_status,
    decide_scaling,
    recent,
)
from kubecluster.rules.deployment import replicas_of
from kubecluster.rules.pods import is_leaving

COMPONENT = "horizontal-pod-autoscaler"
_TARGETS = {resource.kind: resource for resource in (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS, REPLICATION_CONTROLLERS)}


class AutoscalerController:
    """Controller of autoscalers. Recommendations are remembered by this process only: a restart begins a new window
    with the replicas that there are, as in Kubernetes."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._autoscalers = platform.informer(AUTOSCALERS)
        self._usage = PodUsage(platform)
        self._history: dict[str, list[Recommendation]] = {}
        self._controller = platform.controller("autoscaler", self.reconcile)

    def start(self) -> None:
        self._platform.follow(AUTOSCALERS, self._controller.queue)
        self._autoscalers.on_change(self._forget)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        autoscaler = self._autoscalers.get(key.name, key.namespace)
        if autoscaler is None or is_leaving(autoscaler):
            return None
        reference = mapping_at(autoscaler, "spec", "scaleTargetRef")
        resource = _TARGETS.get(reference.get("kind", ""))
        target = self._platform.informer(resource).get(reference["name"], key.namespace) if resource else None
        if resource is None or target is None:
            message = (
                f"the HPA controller was unable to get the target's current scale: {reference.get('name')} not found"
            )
            self._platform.warn(COMPONENT, AUTOSCALERS, autoscaler, "FailedGetScale", message)
        elif replicas_of(target) > 0:
            await self._scale(autoscaler, resource, target)
        return self._platform.clock.now() + timedelta(seconds=SYNC_SECONDS)

    async def _scale(self, autoscaler: Manifest, resource: Resource[Manifest], target: Manifest) -> None:
        platform, now, current = self._platform, self._platform.clock.now(), replicas_of(target)
        began = [Recommendation(now, current)]
        history = recent(autoscaler, self._history.get(autoscaler["metadata"]["uid"], began), now)
        scaling = decide_scaling(autoscaler, current, self._loads(target), history, now)
        if not scaling.fault:
            history.append(Recommendation(now, scaling.wanted))
        self._history[autoscaler["metadata"]["uid"]] = history
        if scaling.replicas != current:
            await platform.patch(resource, target, {"spec": {"replicas": scaling.replicas}})
            platform.tell(COMPONENT, AUTOSCALERS, autoscaler, "SuccessfulRescale", _told(scaling, current))
        await platform.report(AUTOSCALERS, autoscaler, autoscaler_status(autoscaler, current, scaling, now))

    def _loads(self, target: Manifest) -> list[PodLoad]:
        wire = mapping_at(target, "spec", "selector")
        if target.get("kind") == REPLICATION_CONTROLLERS.kind:
            wire = {"matchLabels": wire}
        selector = selector_of(from_wire(wire, LabelSelector))
        pods = self._platform.pods.list(target["metadata"]["namespace"])
        selected = [pod for pod in pods if matches(selector, mapping_at(pod, "metadata", "labels"))]
        return [PodLoad(pod, usage) for pod, usage in self._usage.of(selected)]

    def _forget(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and new is None:
            self._history.pop(old["metadata"]["uid"], None)


def _told(scaling: Scaling, current: int) -> str:
    reason = scaling.cause if scaling.replicas > current else "All metrics below target"
    return f"New size: {scaling.replicas}; reason: {reason}"
