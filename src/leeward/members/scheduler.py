"""The scheduler: gives each Pod a node, one Pod at a time, and tries again whenever a node has more room."""

from datetime import datetime

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.core import Node
from leeward.core.interpreter.fields import list_at, mapping_at, text_at
from leeward.members.kinds import PODS
from leeward.members.ledger import Ledger
from leeward.members.platform import Platform
from leeward.members.rules.conditions import put_condition
from leeward.members.rules.fitting import Unschedulable, choose_node
from leeward.members.rules.pods import is_active, node_of
from leeward.runtime.identity import Key, key_of
from leeward.runtime.index import Index

SCHEDULER_NAME = "default-scheduler"


class SchedulerController:
    """One worker, so that each choice sees the ones before it."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._ledger = Ledger(platform.pods)
        self._waiting = Index(platform.pods, _is_waiting)
        self._controller = platform.controller("scheduler", self.reconcile, workers=1)

    def start(self) -> None:
        self._platform.follow(PODS, self._controller.queue)
        self._platform.pods.on_change(self._pod_changed)
        self._platform.nodes.on_change(lambda old, new: self._try_again())
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        pod = self._platform.pods.get(key.name, key.namespace)
        if pod is None or not _is_waiting(pod):
            return None
        nodes = [from_wire(node, Node) for node in self._platform.nodes.list()]
        choice = choose_node(pod, nodes, self._ledger.used)
        if isinstance(choice, Unschedulable):
            await self._report(pod, choice)
        else:
            await self._platform.bind(pod, choice)
        return None

    async def _report(self, pod: Manifest, refusal: Unschedulable) -> None:
        said = {"status": "False", "reason": "Unschedulable", "message": refusal.message}
        condition = {"type": "PodScheduled", **said}
        conditions = put_condition(list_at(pod, "status", "conditions"), condition, self._platform.clock.now())
        status = {**mapping_at(pod, "status"), "phase": "Pending", "conditions": conditions}
        await self._platform.report(PODS, pod, status)

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
