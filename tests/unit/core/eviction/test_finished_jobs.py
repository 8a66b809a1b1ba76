"""Jobs that have ended, by what was reported of the present generation of their Works."""

from typing import Any

import msgspec
import pytest

from leeward.api.work import Work
from leeward.core.eviction.finished_jobs import is_finished_job
from tests.builders import work

COMPLETE = {"type": "Complete", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}
SUSPENDED = {"type": "Suspended", "status": "True"}


def job(*conditions: dict[str, str], kind: str = "Job", group: str = "batch", carried: int = 1) -> Work:
    copy = work("a", 0, carried=carried)
    (report,) = copy.status.manifest_statuses
    identifier = msgspec.structs.replace(report.identifier, kind=kind, group=group)
    status: Any = {"conditions": list(conditions)} if conditions else None
    report = msgspec.structs.replace(report, identifier=identifier, status=status)
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=(report,)))


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
        (job(COMPLETE, kind="CronJob"), False),
        (job(COMPLETE, group="batch.volcano.sh"), False),
        (with_another(job(COMPLETE), job()), False),
        (msgspec.structs.replace(job(COMPLETE), status=work("a", 0).status), False),
        (None, False),
    ],
    ids=[
        "complete", "failed", "suspended", "not true", "without a status", "of an earlier Work", "another kind",
        "another group", "one of two", "a Deployment", "no Work",
    ],
)  # fmt: skip
def test_s12_a_job_has_ended_when_it_was_reported_to(copy: Work | None, *, ended: bool) -> None:
    assert is_finished_job(copy) == ended
