"""Controllers of the kinds that have Pods, or Jobs: as many as wanted, and a status that says how many are ready.

A ReplicaSetController serves ReplicationControllers, too, as in Kubernetes: they differ in their selector, which is not
read here. Pods of a StatefulSet have ordinal names, and are started, replaced and stopped in order."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from controller_runtime import Key, key_of
from kubeapi.codec import from_wire
from kubeapi.core import Node
from kubeapi.errors import ApiError
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Forbidden, Invalid
from kubecluster.kinds import CLAIMS, CRON_JOBS, DAEMON_SETS, JOBS, PODS, STATEFUL_SETS
from kubecluster.platform import Dependents, Platform, together
from kubecluster.pod_sources import create_pods
from kubecluster.rules.claim_templates import render_claims, surplus_claims
from kubecluster.rules.cron_job import cron_job_status, decide_cron, render_job
from kubecluster.rules.daemon_set import daemon_set_status, eligible_nodes, render_daemon_pod
from kubecluster.rules.daemon_set import decide_steps as decide_daemon_steps
from kubecluster.rules.job import active_deadline, decide_outcome, is_ended, job_status, render_job_pod
from kubecluster.rules.job import decide_steps as decide_job_steps
from kubecluster.rules.pods import is_leaving, next_available_at
from kubecluster.rules.replica_set import decide_pods, replica_set_status
from kubecluster.rules.stateful_set import decide_steps as decide_ordinals
from kubecluster.rules.stateful_set import ordinal_of, render_member, stateful_set_status, wanted_ordinals
from kubecluster.rules.templates import render_pod


class ReplicaSetController:
    def __init__(self, platform: Platform, resource: Resource[Manifest]) -> None:
        self._platform = platform
        self._resource = resource
        self._sets = platform.informer(resource)
        self._controller = platform.controller(resource.kind.lower(), self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(self._resource, queue)
        self._platform.follow_owned(PODS, self._resource, queue)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        replica_set = self._sets.get(key.name, key.namespace)
        if replica_set is None or is_leaving(replica_set):
            return None
        platform = self._platform
        refusal = await self._resize(replica_set)
        pods, now = platform.owned_pods.of(replica_set), platform.clock.now()
        status = replica_set_status(replica_set, pods, now, failure=str(refusal or ""))
        await platform.report(self._resource, replica_set, status)
        if refusal is not None:
            raise refusal
        return next_available_at(pods, replica_set, now)

    async def _resize(self, replica_set: Manifest) -> ApiError | None:
        """Creates and deletes Pods. Returns why the server takes no Pod of this template; None when it takes all."""
        platform = self._platform
        steps = decide_pods(replica_set, platform.owned_pods.of(replica_set))
        pods = (render_pod(replica_set) for _ in range(steps.create))
        try:
            await together(
                create_pods(platform, self._resource, replica_set, pods),
                *(platform.delete_pod(pod) for pod in steps.delete),
            )
        except (Forbidden, Invalid) as refusal:
            return refusal
        return None


class DaemonSetController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._sets = platform.informer(DAEMON_SETS)
        self._controller = platform.controller("daemonset", self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(DAEMON_SETS, queue)
        self._platform.follow_owned(PODS, DAEMON_SETS, queue)
        self._platform.nodes.on_change(self._node_changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        daemon_set = self._sets.get(key.name, key.namespace)
        if daemon_set is None or is_leaving(daemon_set):
            return None
        platform, now = self._platform, self._platform.clock.now()
        nodes = eligible_nodes(daemon_set, [from_wire(node, Node) for node in platform.nodes.list()])
        steps = decide_daemon_steps(daemon_set, nodes, platform.owned_pods.of(daemon_set), now)
        await together(
            create_pods(
                platform, DAEMON_SETS, daemon_set, (render_daemon_pod(daemon_set, node) for node in steps.create)
            ),
            *(platform.delete_pod(pod) for pod in steps.delete),
        )
        pods, now = platform.owned_pods.of(daemon_set), platform.clock.now()
        await platform.report(DAEMON_SETS, daemon_set, daemon_set_status(daemon_set, nodes, pods, now))
        return next_available_at(pods, daemon_set, now)

    def _node_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        for daemon_set in self._sets.list():
            self._controller.queue.add(key_of(daemon_set))


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
        steps = decide_ordinals(stateful_set, platform.owned_pods.of(stateful_set), platform.clock.now())
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


class JobController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._jobs = platform.informer(JOBS)
        self._controller = platform.controller("job", self.reconcile)

    def start(self) -> None:
        queue = self._controller.queue
        self._platform.follow(JOBS, queue)
        self._platform.follow_owned(PODS, JOBS, queue)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        job = self._jobs.get(key.name, key.namespace)
        if job is None or is_leaving(job) or is_ended(job):
            return None
        return await self._run(job)

    async def _run(self, job: Manifest) -> datetime | None:
        platform, now = self._platform, self._platform.clock.now()
        pods = platform.owned_pods.of(job)
        outcome = decide_outcome(job, pods, now)
        steps = decide_job_steps(job, pods, outcome)
        await together(
            create_pods(platform, JOBS, job, (render_job_pod(job) for _ in range(steps.create))),
            *(platform.delete_pod(pod) for pod in steps.delete),
        )
        status = job_status(job, platform.owned_pods.of(job), outcome, platform.clock.now())
        await platform.report(JOBS, job, status)
        return active_deadline({**job, "status": status})


COMPONENT = "cronjob-controller"


class CronJobController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._cron_jobs = platform.informer(CRON_JOBS)
        self._owned_jobs = Dependents(platform.informer(JOBS))
        self._controller = platform.controller("cronjob", self.reconcile)

    def start(self) -> None:
        self._platform.follow(CRON_JOBS, self._controller.queue)
        self._platform.follow_owned(JOBS, CRON_JOBS, self._controller.queue)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        cron_job = self._cron_jobs.get(key.name, key.namespace)
        if cron_job is None or is_leaving(cron_job):
            return None
        platform = self._platform
        steps = decide_cron(cron_job, self._owned_jobs.of(cron_job), platform.clock.now())
        if steps.reason:
            platform.warn(COMPONENT, CRON_JOBS, cron_job, steps.reason, steps.message)
        await together(*(platform.delete(JOBS, job) for job in steps.delete))
        if steps.due is not None:
            job = render_job(cron_job, steps.due)
            with suppress(AlreadyExists):
                await platform.create(JOBS, job)
                platform.tell(
                    COMPONENT, CRON_JOBS, cron_job, "SuccessfulCreate", f"Created job {job['metadata']['name']}"
                )
        gone = {job["metadata"]["uid"] for job in steps.delete}
        jobs = [job for job in self._owned_jobs.of(cron_job) if job["metadata"]["uid"] not in gone]
        await platform.report(CRON_JOBS, cron_job, cron_job_status(cron_job, jobs, steps.due))
        return steps.wake_at
