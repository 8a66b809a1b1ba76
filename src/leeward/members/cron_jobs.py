"""The CronJob controller: a Job at each instant of the schedule."""

from contextlib import suppress
from datetime import datetime

from leeward.client import AlreadyExists
from leeward.members.dependents import Dependents
from leeward.members.kinds import CRON_JOBS, JOBS
from leeward.members.platform import Platform, together
from leeward.members.rules.cron_job import cron_job_status, decide_cron, render_job
from leeward.members.rules.pods import is_leaving
from leeward.runtime.identity import Key

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
