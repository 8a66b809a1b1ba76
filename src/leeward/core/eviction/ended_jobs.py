"""Jobs that have ended: no taint that was set automatically moves one, since elsewhere it would run once more.

What a Job was for is done when it has ended, well or not: a migration of a database, a bill that was sent. Its cluster
is lost with nothing that is missed, and has it still when it is back. A person who drains or taints by hand is obeyed.

Holds: S12. Karmada moves it, and it runs again.
"""

from leeward.api.work import ManifestStatus, Work
from leeward.core.eviction.evidence import is_about_present
from leeward.core.interpreter.jobs import has_outcome


def has_ended(work: Work | None) -> bool:
    """Tells whether the copy that `work` describes is a Job that has ended, as it was reported, however long ago."""
    if work is None or not is_about_present(work):
        return False
    statuses = work.status.manifest_statuses
    return bool(statuses) and all(map(_is_ended_job, statuses))


def _is_ended_job(status: ManifestStatus) -> bool:
    identifier = status.identifier
    return (identifier.group, identifier.kind) == ("batch", "Job") and has_outcome(status.status)
