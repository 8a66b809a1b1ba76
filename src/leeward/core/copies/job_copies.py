"""Jobs: work that runs to its end.

    complete    done, and for ever: the copy serves all that it is for, however old the report is
    finished    complete or failed: nothing more comes of it
    under way   begun and not finished: its work would be lost with it, and no other copy replaces it before it is done

A report names the template that its object was made of (`with_template`), and so does the Work. So another Job of the
same name is not taken for this one, and a Work that changes otherwise keeps its evidence. An agent that names none is
believed about the present generation of the Work.

Other work that is done once (a Pod, a workflow, a training job) is complete, under way, or neither. A CronJob asks for
nothing that others could serve. Where it leaves, it begins no run any more, and goes when its last one has ended.

Holds: S1, S12. Karmada counts a Job that has begun as a replacement.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.unstructured import mappings_at, text_at, value_at
from leeward.api.names import TEMPLATE_UID_ANNOTATION
from leeward.api.work import ManifestStatus, Work
from leeward.core.copies.evidence import is_about_present
from leeward.core.interpreter.jobs import DONE_ONCE, as_job, says_done, says_finished, says_over, says_under_way


def is_job(resource: ReadOnlyManifest) -> bool:
    return resource.get("kind") == "Job" and str(resource.get("apiVersion")).startswith("batch/")


def is_done_once(resource: ReadOnlyManifest) -> bool:
    return (str(resource.get("apiVersion")).rpartition("/")[0], resource.get("kind")) in DONE_ONCE


def is_cron_job(resource: ReadOnlyManifest) -> bool:
    return resource.get("kind") == "CronJob" and str(resource.get("apiVersion")).startswith("batch/")


def runs_of(cron_job: ReadOnlyManifest) -> list[str]:
    """Names of the Jobs that a member's CronJob has begun, and that run."""
    return sorted(text_at(each, "name") for each in mappings_at(cron_job, "status", "active"))


def template_of_job(manifests: Sequence[ReadOnlyManifest]) -> dict[str, str]:
    """Annotation of a Work that names the template of a Job or of other work that is done once."""
    uids = [annotations_of(each).get(TEMPLATE_UID_ANNOTATION, "") for each in manifests if is_done_once(each)]
    return {TEMPLATE_UID_ANNOTATION: uids[0]} if len(uids) == 1 and uids[0] else {}


def with_template(status: Any, observed: ReadOnlyManifest) -> Any:
    """Status of a member's Job that also names its template, the Pods that run, and its restartPolicy. Of other kinds
    as it is."""
    if not is_done_once(observed) or not isinstance(status, dict):
        return status
    uid, ready = annotations_of(observed).get(TEMPLATE_UID_ANNOTATION), value_at(observed, "status", "ready")
    told = {TEMPLATE_UID_ANNOTATION: uid, "ready": ready}
    policy = value_at(observed, "spec", "restartPolicy")
    told["restartPolicy"] = value_at(policy, "type") if isinstance(policy, dict) else policy
    return {**cast(Manifest, status), **{name: value for name, value in told.items() if value is not None}}


def is_finished_job(work: Work) -> bool:
    """Tells whether the copy that `work` describes is a finished Job, as it was reported, however long ago."""
    return _is_job_that(work, says_finished)


def over_in(works: Mapping[str, Work], template: str) -> frozenset[str]:
    """Clusters in which the Job of this `template` (its uid) is over, as it was reported, however long ago."""

    def is_over(work: Work) -> bool:
        return _is_job_that(work, partial(says_over, jobs=work.spec.workload.manifests), template)

    return frozenset(name for name, work in works.items() if is_over(work))


def is_complete_job(work: Work) -> bool:
    """Tells whether the copy is a Job that has done all that its Work asks for by now; its part may have grown."""
    return _is_job_that(work, partial(says_done, jobs=work.spec.workload.manifests))


def is_job_under_way(work: Work) -> bool:
    """Tells whether the copy is a Job that has begun and was not finished when it was reported."""
    return _is_job_that(work, says_under_way)


def _is_job_that(work: Work, says: Callable[[Any], bool], template: str = "") -> bool:
    """Tells whether all objects of the copy are Jobs, and their statuses say so, of this template or the Work's."""
    statuses = work.status.manifest_statuses
    wanted = template or work.metadata.annotations.get(TEMPLATE_UID_ANNOTATION, "")
    return bool(statuses) and all(_is_of_template(each, work, wanted) and says(as_job(each)) for each in statuses)


def _is_of_template(status: ManifestStatus, work: Work, wanted: str) -> bool:
    if (status.identifier.group, status.identifier.kind) not in DONE_ONCE:
        return False
    told = text_at(status.status, TEMPLATE_UID_ANNOTATION)
    return told == wanted if told and wanted else is_about_present(work)
