"""Redaction of pictures: what decisions read of a report is kept, and what nobody is to read is not."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kubeapi.codec import encode
from kubeapi.meta import Manifest
from leeward.answers.missing_dependencies import DependencyNames
from leeward.answers.redaction import redacted_binding, redacted_work
from leeward.api.meta import Condition
from leeward.api.names import BINDING_NAME_ANNOTATION, BINDING_NAMESPACE_ANNOTATION, TEMPLATE_GENERATION_ANNOTATION
from leeward.api.policy import (
    ApplicationFailover,
    ClusterFailover,
    DecisionConditions,
    FailoverBehavior,
    StatePreservation,
    StatePreservationRule,
)
from leeward.api.work import (
    AggregatedStatusItem,
    ResourceBindingStatus,
    Work,
    WorkloadTemplate,
    WorkSpec,
    WorkStatus,
)
from leeward.core.copies.availability import availability
from leeward.core.copies.evidence import is_uncounted, trusted
from leeward.core.copies.job_copies import is_finished_job
from leeward.core.eviction.state_preservation import preserved_state
from tests.builders import binding, cluster, duplicated, targets, work

SECRET = "hunter2"
ENDED = [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True", "message": SECRET}]
BY_AGENT = WorkStatus(conditions=(Condition("Applied", "True", "AppliedSuccessful"),))
OF_FIRST = {"readyReplicas": 2, "resourceTemplateGeneration": 1, "generation": 1, "observedGeneration": 1}


def copy(kind: str, status: Mapping[str, Any], *, by_agent: bool = False, asked: int = 2) -> Work:
    """A Work of `kind` of the template's first generation, changed once; `by_agent`, as Karmada's reports it."""
    known = work("a", 2)
    (report,) = known.status.manifest_statuses
    identifier = msgspec.structs.replace(report.identifier, kind=kind, group="batch" if kind == "Job" else "")
    told: Any = {**status, "message": SECRET}
    reports = (msgspec.structs.replace(report, identifier=identifier, status=told),)
    manifest: Manifest = {
        "kind": kind,
        "metadata": {"name": "nginx", "annotations": {TEMPLATE_GENERATION_ANNOTATION: "1", "note": SECRET}},
        "spec": {"replicas": asked, "password": SECRET, "template": {"spec": {"containers": [{"env": SECRET}]}}},
    }
    changed = msgspec.structs.replace(known.metadata, generation=2) if by_agent else known.metadata
    return msgspec.structs.replace(
        known,
        metadata=changed,
        spec=WorkSpec(workload=WorkloadTemplate(manifests=(manifest,))),
        status=msgspec.structs.replace(BY_AGENT if by_agent else known.status, manifest_statuses=reports),
    )


def said_of(told: Work) -> tuple[object, ...]:
    """Evidence that decisions have of a copy of two replicas."""
    there = cluster("a")
    return (
        is_finished_job(told),
        availability(told, there, 2),
        is_uncounted(told),
        [status.health for status in trusted(told).status.manifest_statuses],
    )


@pytest.mark.parametrize(
    "told",
    [
        copy("Deployment", {"readyReplicas": 1, "replicas": 2}),
        copy("Deployment", {}),
        copy("Job", {"succeeded": 1, "startTime": "2026-01-01T00:00:00Z", "conditions": ENDED}),
        copy("Job", {"failed": 1, "conditions": [{"type": "Failed", "status": "False"}]}),
        copy("Job", {"startTime": "2026-01-01T00:00:00Z"}),
        copy("Job", {"conditions": []}),
        copy("Job", {}),
        copy("Deployment", OF_FIRST, by_agent=True),
        copy("Deployment", {**OF_FIRST, "resourceTemplateGeneration": 2}, by_agent=True),
        copy("Deployment", {**OF_FIRST, "observedGeneration": 0}, by_agent=True),
        copy("Widget", {"readyReplicas": 1}, by_agent=True),
        copy("Widget", {"readyReplicas": 2}, by_agent=True),
        copy("Job", {"conditions": ENDED}, by_agent=True),
    ],
)
def test_a_picture_keeps_what_is_believed_of_a_copy_and_nothing_secret(told: Work) -> None:
    kept = redacted_work(told)
    assert said_of(kept) == said_of(told)
    assert SECRET not in encode(kept).decode()


FINISHED = StatePreservation((StatePreservationRule("job-id", "{.jobStatus.id}"),))
PHASE = StatePreservation((StatePreservationRule("step", "{.phase} of {.jobStatus.name}"),))
STATUS: Any = {"phase": "B", "jobStatus": {"id": "7f", "name": "j", "token": SECRET}, "note": SECRET}


def test_a_picture_keeps_what_a_failover_hands_on_and_nothing_beside_it() -> None:
    behaviour = FailoverBehavior(
        application=ApplicationFailover(DecisionConditions(), state_preservation=PHASE),
        cluster=ClusterFailover(state_preservation=FINISHED),
    )
    item = AggregatedStatusItem("a", status=STATUS)
    asking = binding(duplicated("a", "b"), 1, targets(a=1), failover=behaviour)
    asking = msgspec.structs.replace(asking, status=ResourceBindingStatus(aggregated_status=(item,)))
    told = copy("Flink", STATUS)
    marks = {BINDING_NAMESPACE_ANNOTATION: "default", BINDING_NAME_ANNOTATION: asking.name}
    told = msgspec.structs.replace(told, metadata=msgspec.structs.replace(told.metadata, annotations=marks))
    (kept,) = redacted_binding(asking).status.aggregated_status
    work_kept = DependencyNames([asking]).keep(told)
    (reported,) = work_kept.status.manifest_statuses
    for left in (kept, msgspec.structs.replace(kept, status=reported.status)):
        assert preserved_state(asking, FINISHED, left) == {"job-id": "7f"}
        assert preserved_state(asking, PHASE, left) == {"step": "B of j"}
    assert SECRET not in encode([kept, work_kept]).decode()
