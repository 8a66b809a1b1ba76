"""The Deployment controller: one ReplicaSet per revision of the template, and a rollout from the old to the new."""

from datetime import datetime

from controller_runtime import Key
from kubeapi.meta import Manifest
from kubecluster.kinds import DEPLOYMENTS, REPLICA_SETS
from kubecluster.platform import Platform, owner_key, together
from kubecluster.rules.deployment import (
    REVISION_ANNOTATION,
    Revisions,
    decide_sizes,
    expired_revisions,
    find_revisions,
    is_paused,
    new_revision_number,
    render_replica_set,
    replica_set_patch,
    revision_number,
)
from kubecluster.rules.deployment_status import deployment_status, is_complete, progress_deadline
from kubecluster.rules.pods import is_finished, is_leaving
from kubecluster.rules.rolling import Sizes


class DeploymentController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._deployments = platform.informer(DEPLOYMENTS)
        self._controller = platform.controller("deployment", self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(DEPLOYMENTS, queue)
        self._platform.follow_owned(REPLICA_SETS, DEPLOYMENTS, queue)
        self._platform.pods.on_change(self._pod_changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        deployment = self._deployments.get(key.name, key.namespace)
        if deployment is None or is_leaving(deployment):
            return None
        revisions = self._revisions(deployment)
        sizes = decide_sizes(deployment, revisions, self._has_pods(revisions.old))
        await self._resize(deployment, revisions, sizes)
        return await self._report(deployment, self._revisions(deployment))

    async def _resize(self, deployment: Manifest, revisions: Revisions, sizes: Sizes) -> None:
        platform = self._platform
        if revisions.new is not None:
            patch = replica_set_patch(deployment, revisions.new, sizes.new, new_revision_number(revisions))
            await platform.patch(REPLICA_SETS, revisions.new, patch)
        elif not is_paused(deployment):
            new = render_replica_set(deployment, sizes.new, new_revision_number(revisions))
            await platform.create(REPLICA_SETS, new)
        patches = [
            (old, replica_set_patch(deployment, old, replicas, revision_number(old)))
            for old, replicas in zip(revisions.old, sizes.old, strict=True)
        ]
        await together(*(platform.patch(REPLICA_SETS, old, patch) for old, patch in patches))

    async def _report(self, deployment: Manifest, revisions: Revisions) -> datetime | None:
        """The revision goes with the status: one write for both."""
        status = deployment_status(deployment, revisions, self._platform.clock.now())
        annotations = {REVISION_ANNOTATION: str(revision_number(revisions.new))} if revisions.new else {}
        await self._platform.report(DEPLOYMENTS, deployment, status, annotations)
        if is_complete(deployment, status):
            expired = expired_revisions(deployment, revisions)
            await together(*(self._platform.delete(REPLICA_SETS, old) for old in expired))
        return progress_deadline(deployment, status)

    def _revisions(self, deployment: Manifest) -> Revisions:
        sets = [s for s in self._platform.owned_sets.of(deployment) if not is_leaving(s)]
        return find_revisions(deployment, sets)

    def _has_pods(self, sets: tuple[Manifest, ...]) -> bool:
        return any(not is_finished(pod) for s in sets for pod in self._platform.owned_pods.of(s))

    def _pod_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        """A Recreate waits for the last old Pod, whose end no ReplicaSet reports."""
        key = owner_key(old, REPLICA_SETS) if old is not None and new is None else None
        replica_set = self._platform.informer(REPLICA_SETS).get(key.name, key.namespace) if key else None
        deployment = owner_key(replica_set, DEPLOYMENTS) if replica_set else None
        if deployment is not None:
            self._controller.queue.add(deployment)
