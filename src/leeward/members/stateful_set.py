"""The StatefulSet controller: Pods with ordinal names, started, replaced and stopped in order."""

from collections.abc import Iterable
from datetime import datetime

from kubeapi.meta import Manifest
from leeward.client import AlreadyExists
from leeward.members.kinds import CLAIMS, PODS, STATEFUL_SETS
from leeward.members.platform import Platform, together
from leeward.members.pod_creation import create_pods
from leeward.members.rules.claim_templates import render_claims, surplus_claims
from leeward.members.rules.pods import is_leaving, next_available_at
from leeward.members.rules.stateful_set import (
    decide_steps,
    ordinal_of,
    render_member,
    stateful_set_status,
    wanted_ordinals,
)
from leeward.runtime.identity import Key, key_of


class StatefulSetController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._sets = platform.informer(STATEFUL_SETS)
        self._claims = platform.informer(CLAIMS)
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
        await self._create_claims(stateful_set, steps.create)
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
        await self._delete_claims(stateful_set, pods)
        await platform.report(STATEFUL_SETS, stateful_set, stateful_set_status(stateful_set, pods, now))
        return next_available_at(pods, stateful_set, now)

    async def _create_claims(self, stateful_set: Manifest, ordinals: Iterable[int]) -> None:
        """Creates the claims that are missing; the others keep their data."""
        for claim in render_claims(stateful_set, ordinals):
            key = key_of(claim)
            if self._claims.get(key.name, key.namespace) is None:
                try:
                    await self._platform.create(CLAIMS, claim)
                except AlreadyExists:
                    continue

    async def _delete_claims(self, stateful_set: Manifest, pods: Iterable[Manifest]) -> None:
        present = [ordinal_of(pod) for pod in pods]
        claims = self._claims.list(stateful_set["metadata"]["namespace"])
        for claim in surplus_claims(stateful_set, wanted_ordinals(stateful_set), present, claims):
            await self._platform.delete(CLAIMS, claim)
