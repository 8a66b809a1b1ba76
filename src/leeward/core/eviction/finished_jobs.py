"""Finished Jobs: no automatic taint moves one, since it would run again elsewhere.

What a Job was for is done when it is finished, well or not: a migration of a database, a bill that was sent. Nothing is
missed while its cluster is lost. A person who drains or taints by hand is obeyed.

Holds: S12. Karmada moves it, and it runs again.
"""

from leeward.api.work import ManifestStatus, Work
from leeward.core.copies.evidence import is_about_present
from leeward.core.interpreter.jobs import says_finished


def is_finished_job(work: Work | None) -> bool:
    """Tells whether the copy that `work` describes is a finished Job, as it was reported, however long ago."""
    if work is None or not is_about_present(work):
        return False
    statuses = work.status.manifest_statuses
    return bool(statuses) and all(map(_is_of_finished_job, statuses))


def _is_of_finished_job(status: ManifestStatus) -> bool:
    identifier = status.identifier
    return (identifier.group, identifier.kind) == ("batch", "Job") and says_finished(status.status)
