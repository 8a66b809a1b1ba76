"""The StatefulSet controller: Pods with ordinal names, started, replaced and stopped in order."""

from datetime import datetime

from leeward.members.kinds import PODS, STATEFUL_SETS
from leeward.members.platform import Platform, together
from leeward.members.pod_creation import create_pods
from leeward.members.rules.pods import is_leaving, next_available_at
from leeward.members.rules.stateful_set import decide_steps, render_member, stateful_set_status
from leeward.runtime.identity import Key


class StatefulSetController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._sets = platform.informer(STATEFUL_SETS)
        self._controller = platform.controller("statefulset", self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(STATEFUL_SETS, queue)
        self._platform.follow_owned(PODS, STATEFUL_SETS, queue)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        stateful_set = self._sets.get(key.name, key.namespace)
        if stateful_set is None or is_leaving(stateful_set):
            return None
        platform = self._platform
        steps = decide_steps(stateful_set, platform.owned_pods.of(stateful_set), platform.clock.now())
        await together(
            create_pods(
                platform,
                STATEFUL_SETS,
                stateful_set,
                (render_member(stateful_set, ordinal) for ordinal in steps.create),
            ),
            *(platform.delete_pod(pod) for pod in steps.delete),
        )
        pods, now = platform.owned_pods.of(stateful_set), platform.clock.now()
        await platform.report(STATEFUL_SETS, stateful_set, stateful_set_status(stateful_set, pods, now))
        return next_available_at(pods, stateful_set, now)
