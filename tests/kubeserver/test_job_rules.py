"""Jobs and CronJobs: selectors that are made for them, what may change, and schedules that can be read."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.kinds.cron_schedules import schedule_fault, zone_fault
from tests.kubeserver.api_world import STRATEGIC, ApiWorld, tell

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
UID = "batch.kubernetes.io/controller-uid"


def job(name: str = "a", labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    pods = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": labels or {}}, "spec": pods}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def cron_job(name: str = "a", schedule: str = "* * * * *", **spec: Any) -> Manifest:
    return {"metadata": {"name": name}, "spec": {"schedule": schedule, "jobTemplate": job(), **spec}}


def test_a_selector_is_made_beside_what_was_said():
    async def story(world: ApiWorld) -> None:
        made = (await world.create(JOBS, job(labels={"app": "x"}, selector={"matchLabels": {"app": "x"}}))).body
        assert (made.get("message") or "").endswith("`selector` not auto-generated")
        made = (await world.create(JOBS, job(labels={"app": "x"}))).body
        labels = made["spec"]["template"]["metadata"]["labels"]
        assert labels["app"] == "x"
        assert made["spec"]["selector"] == {"matchLabels": {UID: made["metadata"]["uid"]}}
        assert labels[UID] == labels["controller-uid"] == made["metadata"]["uid"]

    tell(story)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            job(labels={"job-name": "other"}),
            "spec.template.metadata.labels[job-name]: Invalid value: {",
        ),
        (
            job(labels={"controller-uid": "other"}),
            "spec.template.metadata.labels[controller-uid]: Invalid value: {",
        ),
        (
            job(selector={"matchLabels": {UID: "other"}}),
            'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"other"}}: '
            "`selector` not auto-generated",
        ),
        (job(manualSelector=True), "spec.selector: Required value"),
        (job(completionMode="Indexed", parallelism=1), "spec.completions: Required value: when completion mode"),
        (job(backoffLimitPerIndex=1), "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"),
        (job(completionMode="Odd"), 'spec.completionMode: Unsupported value: "Odd"'),
        (
            job(podFailurePolicy={"rules": [{"action": "Jump", "onExitCodes": {"operator": "In", "values": [1]}}]}),
            'spec.podFailurePolicy.rules[0].action: Unsupported value: "Jump"',
        ),
        (job("a" * 64), "must be no more than 63"),
    ],
)
def test_a_job_that_could_not_find_its_pods_or_its_end_is_refused(body: Manifest, said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(JOBS, body)
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_a_suspended_job_may_still_choose_its_nodes_and_resources_and_a_running_one_may_not():
    """Rules of kube-apiserver 1.36.2."""

    async def story(world: ApiWorld) -> None:
        await world.create(JOBS, job(suspend=True))
        nodes = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}}
        assert (await world.patch(f"{JOBS}/a", nodes)).code == 200
        more = {"spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}}}}
        assert (await world.patch(f"{JOBS}/a", more, STRATEGIC)).code == 200
        more["spec"]["template"]["spec"]["containers"][0] |= {"image": "other"}
        assert (await world.patch(f"{JOBS}/a", more, STRATEGIC)).code == 422
        image = {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
        assert (await world.patch(f"{JOBS}/a", image)).code == 422
        await world.patch(f"{JOBS}/a", {"spec": {"suspend": False}})
        refused = await world.patch(f"{JOBS}/a", {"spec": {"template": {"spec": {"nodeSelector": None}}}})
        assert "field is immutable" in refused.body["message"]

    tell(story)


def test_only_an_indexed_job_grows():
    async def story(world: ApiWorld) -> None:
        await world.create(JOBS, job("plain", completions=2, parallelism=2))
        await world.create(JOBS, job("indexed", completions=2, parallelism=2, completionMode="Indexed"))
        grown = {"spec": {"completions": 3, "parallelism": 3}}
        assert (await world.patch(f"{JOBS}/indexed", grown)).code == 200
        assert (await world.patch(f"{JOBS}/plain", grown)).code == 422

    tell(story)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            cron_job(schedule="61 * * * *"),
            'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum',
        ),
        (cron_job(timeZone="Mars/Base"), 'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'),
        (cron_job("a" * 53), "must be no more than 52 characters"),
        (
            {**cron_job(), "spec": {"schedule": "@daily", "jobTemplate": job(manualSelector=True)}},
            "spec.jobTemplate.spec.manualSelector: Unsupported value",
        ),
    ],
)
def test_a_cron_job_that_would_never_run_is_refused(body: Manifest, said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(CRON_JOBS, body)
        assert said in refused.body["message"]

    tell(story)


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/15 0-6 1,15 jan-mar MON", "@hourly", "@every 5m", "0 0 1 1 0", "5/10 ? * * *"]
)
def test_schedules_that_people_write_are_read(schedule: str):
    assert schedule_fault(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_a_schedule_is_faulted_in_the_words_of_kubernetes(schedule: str, said: str):
    assert schedule_fault(schedule) == said


def test_a_zone_must_be_named():
    assert zone_fault("Europe/Berlin") == ""
    assert zone_fault("Local").startswith("timeZone must be an explicit time zone")
    assert zone_fault("") == "timeZone must be nil or non-empty string"


def test_what_was_made_for_a_job_is_not_made_again_when_it_is_replaced():
    async def story(world: ApiWorld) -> None:
        made = (await world.create(JOBS, job(labels={"app": "x"}))).body
        refused = await world.update(f"{JOBS}/a", job(labels={"app": "x"}))
        assert refused.code == 422
        said = [(cause["field"], cause["message"].partition(": ")[0]) for cause in refused.body["details"]["causes"]]
        assert said == [
            ("spec.selector", "Required value"),
            ("spec.selector", "Invalid value"),
            ("spec.template", "Invalid value"),
        ]
        made["spec"]["parallelism"] = 2
        assert (await world.update(f"{JOBS}/a", made)).body["spec"]["parallelism"] == 2

    tell(story)


def test_a_job_without_labels_has_those_of_its_pods():
    async def story(world: ApiWorld) -> None:
        made = (await world.create(JOBS, job(labels={"app": "x"}))).body
        assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
        del made["metadata"]["labels"]
        replaced = (await world.update(f"{JOBS}/a", made)).body
        assert replaced["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]

    tell(story)
