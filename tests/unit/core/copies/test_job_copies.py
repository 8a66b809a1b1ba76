"""Jobs that run to their end: which are finished and which are under way, by reports about their template."""

from typing import Any

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.names import TEMPLATE_UID_ANNOTATION
from leeward.api.work import ManifestStatus, ResourceIdentifier, Work, WorkloadTemplate
from leeward.core.copies.availability import Availability, availability
from leeward.core.copies.job_copies import (
    is_complete_job,
    is_cron_job,
    is_finished_job,
    is_job,
    is_job_under_way,
    over_in,
    template_of_job,
    with_template,
)
from leeward.core.interpreter.jobs import has_done
from tests.builders import cluster, work

COMPLETE = {"type": "Complete", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}
SUSPENDED = {"type": "Suspended", "status": "True"}


def job(
    *conditions: dict[str, str],
    kind: str = "Job",
    group: str = "batch",
    carried: int = 1,
    told: str = "",
    **counts: int,
) -> Work:
    """`told` is the template that the report names; the Work's own has the uid `one`."""
    copy = work("a", 0, carried=carried)
    (report,) = copy.status.manifest_statuses
    identifier = msgspec.structs.replace(report.identifier, kind=kind, group=group)
    said = {**counts, **({"conditions": list(conditions)} if conditions else {})}
    status: Any = {**said, **({TEMPLATE_UID_ANNOTATION: told} if told else {})} or None
    report = msgspec.structs.replace(report, identifier=identifier, status=status)
    marks = {**copy.metadata.annotations, TEMPLATE_UID_ANNOTATION: "one"}
    metadata = msgspec.structs.replace(copy.metadata, annotations=marks)
    status = msgspec.structs.replace(copy.status, manifest_statuses=(report,))
    return msgspec.structs.replace(copy, metadata=metadata, status=status)


def with_another(copy: Work, other: Work) -> Work:
    both = (*copy.status.manifest_statuses, *other.status.manifest_statuses)
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=both))


@pytest.mark.parametrize(
    ("copy", "ended"),
    [
        (job(COMPLETE), True),
        (job(SUSPENDED, FAILED), True),
        (job(SUSPENDED), False),
        (job({**COMPLETE, "status": "False"}), False),
        (job(), False),
        (job(COMPLETE, carried=0), False),
        (job(COMPLETE, carried=0, told="one"), True),
        (job(COMPLETE, told="another"), False),
        (job(COMPLETE, kind="CronJob"), False),
        (job(COMPLETE, group="batch.volcano.sh"), False),
        (with_another(job(COMPLETE), job()), False),
        (msgspec.structs.replace(job(COMPLETE), status=work("a", 0).status), False),
    ],
    ids=[
        "complete", "failed", "suspended", "not true", "without a status", "of an earlier Work",
        "of an earlier Work and this template", "of another template", "another kind",
        "another group", "one of two", "a Deployment",
    ],
)  # fmt: skip
def test_s12_a_job_has_ended_when_it_was_reported_to(copy: Work, *, ended: bool) -> None:
    assert is_finished_job(copy) == ended


@pytest.mark.parametrize(
    ("copy", "runs"),
    [
        (job(active=1), True),
        (job(active=1, ready=1), True),
        (job(active=1, ready=0), False),
        (job(active=1, ready=0, succeeded=2), True),
        (job(failed=1, active=1, ready=1), True),
        (job(failed=1, active=1, ready=0), False),
        (job(SUSPENDED, active=0), False),
        (job(COMPLETE, succeeded=1), False),
        (job(FAILED, failed=1), False),
        (job(active=1, told="another"), False),
    ],
    ids=[
        "active", "ready", "waits", "a part is done", "tries again", "waits to try again", "suspended", "complete",
        "failed", "another's",
    ],
)  # fmt: skip
def test_s1_a_job_is_under_way_once_it_has_begun_until_it_is_finished(copy: Work, *, runs: bool) -> None:
    assert is_job_under_way(copy) == runs


def test_s1_a_job_that_runs_may_serve_and_one_that_is_complete_serves_for_ever() -> None:
    running, done, failed = job(active=1, succeeded=3), job(COMPLETE, succeeded=3), job(FAILED, succeeded=3)
    seen, away = cluster("a"), cluster("a", ready="False")
    bounds = [(known.at_least, known.at_most, known.is_whole) for known in _known(seen, running, done, failed)]
    assert bounds == [(0, 2, False), (2, 2, True), (0, 0, False)]
    bounds = [(known.at_least, known.at_most, known.is_whole) for known in _known(away, running, done, failed)]
    assert bounds == [(0, 2, False), (2, 2, True), (0, 2, False)]


def _known(of: Cluster, *copies: Work) -> list[Availability]:
    return [availability(copy, of, 2) for copy in copies]


def test_a_job_and_its_report_name_their_template_and_other_kinds_do_not() -> None:
    marked = {"metadata": {"annotations": {TEMPLATE_UID_ANNOTATION: "one"}}, "status": {"ready": 1}}
    one = {"apiVersion": "batch/v1", "kind": "Job", **marked}
    other = {"apiVersion": "kueue.example.com/v1alpha1", "kind": "Job", **marked}
    assert (template_of_job([one]), template_of_job([other])) == ({TEMPLATE_UID_ANNOTATION: "one"}, {})
    assert with_template({"active": 1}, one) == {"active": 1, "ready": 1, TEMPLATE_UID_ANNOTATION: "one"}
    assert (with_template({"active": 1}, other), with_template(None, one)) == ({"active": 1}, None)
    bare = {**one, "metadata": {}, "status": {}}
    assert (template_of_job([bare]), with_template({"active": 1}, bare)) == ({}, {"active": 1})


def test_jobs_and_cron_jobs_are_those_of_kubernetes() -> None:
    batch, kinds = ("batch/v1", "batch.volcano.sh/v1alpha1"), ("Job", "CronJob", "Queue")
    named = [{"apiVersion": version, "kind": kind} for version in batch for kind in kinds]
    assert [each for each in named if is_job(each)] == [{"apiVersion": "batch/v1", "kind": "Job"}]
    assert [each for each in named if is_cron_job(each)] == [{"apiVersion": "batch/v1", "kind": "CronJob"}]


def test_s12_a_job_is_over_for_the_template_that_its_report_names() -> None:
    done, unnamed = job(COMPLETE, told="two", succeeded=4), job(COMPLETE, succeeded=4)
    grown = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 8}}
    jobs = {"a": done, "b": unnamed, "c": done.with_workload(WorkloadTemplate((grown,)))}
    assert (over_in(jobs, "two"), over_in({"a": done}, "one")) == ({"a", "b"}, set())
    nameless = msgspec.structs.replace(done, metadata=msgspec.structs.replace(done.metadata, annotations={}))
    assert is_finished_job(nameless), "it is about the Work's present contents"


@pytest.mark.parametrize(
    ("spec", "is_complete"),
    [
        ({"completions": 4}, True),
        ({"completions": 8}, False),
        ({}, True),
        ({"completions": 8, "successPolicy": {"rules": [{"succeededCount": 4}]}}, True),
    ],
)
def test_a_part_of_a_job_that_has_grown_is_not_done(spec: dict[str, Any], *, is_complete: bool) -> None:
    done = job(COMPLETE, succeeded=4)
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
    assert is_complete_job(done.with_workload(WorkloadTemplate((manifest,)))) == is_complete


@pytest.mark.parametrize(
    ("group", "kind", "status", "done"),
    [
        ("", "Pod", {"phase": "Running", "restartPolicy": "Never"}, False),
        ("", "Pod", {"phase": "Running", "restartPolicy": "OnFailure"}, False),
        ("", "Pod", {"phase": "Running", "restartPolicy": "Always"}, None),
        ("", "Pod", {"phase": "Running"}, None),
        ("", "Pod", {"phase": "Pending", "restartPolicy": "Never"}, None),
        ("flink.apache.org", "FlinkDeployment", {"jobManagerDeploymentStatus": "READY", "jobStatus": {}}, None),
        ("ray.io", "RayJob", {"jobStatus": "RUNNING", "jobDeploymentStatus": "Failed"}, None),
        (
            "sparkoperator.k8s.io",
            "SparkApplication",
            {"applicationState": {"state": "RUNNING"}, "restartPolicy": "Always"},
            None,
        ),
        ("", "Pod", {"phase": "Succeeded", "restartPolicy": "Never"}, True),
        ("argoproj.io", "Workflow", {"phase": "Failed"}, None),
        ("flink.apache.org", "FlinkDeployment", {"jobStatus": {"state": "RUNNING"}}, None),
        ("ray.io", "RayJob", {"jobStatus": "RUNNING"}, False),
        ("sparkoperator.k8s.io", "SparkApplication", {"applicationState": {"state": "RUNNING"}}, False),
        ("kubeflow.org", "MPIJob", {"conditions": [{"type": "Running", "status": "True"}]}, False),
        ("kubeflow.org", "TFJob", {"conditions": [{"type": "Running", "status": "False"}]}, None),
        ("trainer.kubeflow.org", "TrainJob", {"jobsStatus": [{"active": 0}, {"active": 1}]}, False),
        ("trainer.kubeflow.org", "TrainJob", {"jobsStatus": [{"active": 1}], "conditions": [COMPLETE]}, True),
        ("trainer.kubeflow.org", "TrainJob", {"jobsStatus": "?"}, None),
    ],
)
def test_s1_what_is_done_once_says_whether_it_runs(group: str, kind: str, status: Any, done: bool | None) -> None:
    identifier = ResourceIdentifier(0, version="v1", kind=kind, resource="", name="a", group=group)
    assert has_done(ManifestStatus(identifier, status=status)) is done


@pytest.mark.parametrize("policy", ["Always", {"type": "Always"}], ids=["Pod", "SparkApplication"])
def test_a_report_names_the_restart_policy(policy: Any) -> None:
    kind, api_version = ("Pod", "v1") if policy == "Always" else ("SparkApplication", "sparkoperator.k8s.io/v1beta2")
    observed = {"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": {"restartPolicy": policy}}
    assert with_template({}, observed) == {"restartPolicy": "Always"}
