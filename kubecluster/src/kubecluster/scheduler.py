"""The scheduler: gives each Pod a node, one Pod at a time, and tries again whenever a node has more room."""

from datetime import datetime
from decimal import Decimal

from controller_runtime import Index, Informer, Key, key_of
from kubeapi.codec import from_wire
from kubeapi.core import Node
from kubeapi.meta import Manifest
from kubeapi.unstructured import list_at, mapping_at, text_at
from kubecluster.kinds import CLAIMS, PODS, STORAGE_CLASSES
from kubecluster.platform import Platform, together
from kubecluster.rules.claim_needs import NO_CLAIMS, ClaimNeeds, claim_needs
from kubecluster.rules.conditions import put_condition
from kubecluster.rules.fitting import Unschedulable, add, choose_node, requests_of
from kubecluster.rules.pods import is_active, is_finished, node_of
from kubecluster.rules.volume_binding import SELECTED_NODE, claims_of


class NodeRequests:
    """Sums of the requests of each node's Pods; finished Pods ask for nothing any more."""

    def __init__(self, pods: Informer[Manifest]) -> None:
        self.used: dict[str, dict[str, Decimal]] = {}
        pods.on_change(self._changed)

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        self._book(old, -1)
        self._book(new, 1)

    def _book(self, pod: Manifest | None, sign: int) -> None:
        if pod is not None and node_of(pod) and not is_finished(pod):
            name = node_of(pod)
            self.used[name] = add(self.used.get(name, {}), requests_of(pod), sign)


SCHEDULER_NAME = "default-scheduler"


class SchedulerController:
    """One worker, so that each choice sees the ones before it."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._ledger = NodeRequests(platform.pods)
        self._waiting = Index(platform.pods, _is_waiting)
        self._claims = platform.informer(CLAIMS)
        self._classes = platform.informer(STORAGE_CLASSES)
        self._controller = platform.controller("scheduler", self.reconcile, workers=1)

    def start(self) -> None:
        self._platform.follow(PODS, self._controller.queue)
        self._platform.pods.on_change(self._pod_changed)
        self._claims.on_change(self._claim_changed)
        self._platform.nodes.on_change(lambda old, new: self._try_again())
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        pod = self._platform.pods.get(key.name, key.namespace)
        if pod is None or not _is_waiting(pod):
            return None
        nodes = [from_wire(node, Node) for node in self._platform.nodes.list()]
        needs = self._claims_of(pod)
        choice = needs.refusal(len(nodes)) or choose_node(pod, nodes, self._ledger.used)
        if isinstance(choice, Unschedulable):
            await self._report(pod, choice)
        elif needs.waiting:
            await together(*(self._select_node(claim, choice) for claim in needs.waiting))
        else:
            await self._platform.bind(pod, choice)
        return None

    def _claims_of(self, pod: Manifest) -> ClaimNeeds:
        names = claims_of(pod)
        if not names:
            return NO_CLAIMS
        namespace = key_of(pod).namespace
        return claim_needs(names, lambda name: self._claims.get(name, namespace), self._classes.get)

    async def _select_node(self, claim: Manifest, node: str) -> None:
        """Says where the volume of a claim is to be that waits for its first Pod."""
        if mapping_at(claim, "metadata", "annotations").get(SELECTED_NODE) != node:
            await self._platform.patch(CLAIMS, claim, {"metadata": {"annotations": {SELECTED_NODE: node}}})

    async def _report(self, pod: Manifest, refusal: Unschedulable) -> None:
        said = {"status": "False", "reason": "Unschedulable", "message": refusal.message}
        condition = {"type": "PodScheduled", **said}
        conditions = put_condition(list_at(pod, "status", "conditions"), condition, self._platform.clock.now())
        status = {**mapping_at(pod, "status"), "phase": "Pending", "conditions": conditions}
        await self._platform.report(PODS, pod, status)
        if claims_of(pod):
            self._platform.warn(SCHEDULER_NAME, PODS, pod, "FailedScheduling", refusal.message)

    def _claim_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        namespace = (new or old or {})["metadata"]["namespace"]
        for pod in self._waiting.get(True):
            if key_of(pod).namespace == namespace and claims_of(pod):
                self._controller.queue.add(key_of(pod))

    def _pod_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and node_of(old) and (new is None or not is_active(new)):
            self._try_again()

    def _try_again(self) -> None:
        for pod in self._waiting.get(True):
            self._controller.queue.add(key_of(pod))


def _is_waiting(pod: Manifest) -> bool:
    scheduler = text_at(pod, "spec", "schedulerName") or SCHEDULER_NAME
    is_gated = bool(list_at(pod, "spec", "schedulingGates"))
    return is_active(pod) and not node_of(pod) and scheduler == SCHEDULER_NAME and not is_gated
