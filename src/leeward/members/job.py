"""The Job controller: Pods until enough of them have succeeded."""

from datetime import datetime

from kubeapi.meta import Manifest
from leeward.members.kinds import JOBS, PODS
from leeward.members.platform import Platform, together
from leeward.members.pod_creation import create_pods
from leeward.members.rules.job import (
    active_deadline,
    decide_outcome,
    decide_steps,
    is_ended,
    job_status,
    render_job_pod,
)
from leeward.members.rules.pods import is_leaving
from leeward.runtime.identity import Key


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
        steps = decide_steps(job, pods, outcome)
        await together(
            create_pods(platform, JOBS, job, (render_job_pod(job) for _ in range(steps.create))),
            *(platform.delete_pod(pod) for pod in steps.delete),
        )
        status = job_status(job, platform.owned_pods.of(job), outcome, platform.clock.now())
        await platform.report(JOBS, job, status)
        return active_deadline({**job, "status": status})
