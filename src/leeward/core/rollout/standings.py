"""Standings of a binding's clusters in a rollout: which revision each of them has, and what is seen of its copy."""

from collections.abc import Collection, Mapping
from datetime import datetime

from kubeapi.untrusted import mapping_in
from leeward.api.cluster import Cluster
from leeward.api.work import ManifestStatus, ResourceBindingSpec, Work
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.copies.availability import wanted_by_itself
from leeward.core.copies.disruption import KnownCopy, copies_of
from leeward.core.copies.evidence import is_fresh, is_uncounted
from leeward.core.interpreter.plausible import plausible_count
from leeward.core.rollout.rollout_decision import KEPT, Standing
from leeward.core.rollout.state import RolloutSight, revisions_of_work

NO_LABELS: Mapping[str, str] = {}


def standings_of(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Collection[str],
    fleet: Mapping[str, Cluster],
    now: datetime,
    target: str,
    alike: Collection[str] = (),
) -> dict[str, Standing]:
    """The standings of these clusters. The Works in `alike` name no revision, and are as those of the `target`."""
    rows, found = copies_of(spec, works, fleet, now).rows, dict[str, Standing]()
    assigned = {each.name for each in spec.clusters}
    for name in clusters:
        work, home = works.get(name), fleet.get(name)
        named = target if name in alike else next(iter(revisions_of_work(work)), KEPT) if work is not None else None
        sight = sight_of(rows[name]) if name in rows else RolloutSight.NOT_SERVING
        labels = home.metadata.labels if home is not None else NO_LABELS
        some = name in rows and max(rows[name].known.told, rows[name].at_least) > 0
        found[name] = Standing(named, sight, name in assigned, labels, serves_some=some)
    return found


def may_change_rollouts(old: Cluster | None, new: Cluster | None) -> bool:
    """Tells whether a change of a cluster may be one of what is seen there, or of the stage that it belongs to."""
    known = [(c.is_ready, is_failing(c), c.metadata.labels) if c is not None else None for c in (old, new)]
    return known[0] != known[1]


def sight_of(row: KnownCopy) -> RolloutSight:
    """Knowledge of a copy. One of a kind that nobody can judge serves as far as anybody knows, once it is applied; so
    does a Job that runs."""
    if row.home is None or not row.home.is_ready or is_failing(row.home):
        return RolloutSight.UNSEEN
    if row.work is None or not is_fresh(row.work, row.home) or _has_old_replicas(row.work):
        return RolloutSight.NOT_SERVING
    serves = row.is_serving and row.known.is_whole
    is_unjudged = row.is_unjudged and is_uncounted(row.work)
    is_well = serves or bool(wanted_by_itself(row.work, row.home)) or row.is_under_way or is_unjudged
    return RolloutSight.SERVING if is_well else RolloutSight.NOT_SERVING


def _has_old_replicas(work: Work) -> bool:
    """Tells whether replicas of the revision before run still: they may be the ones that serve. Health does not say so:
    of one replica, the new one may wait while the old one is available."""
    return any(_is_being_updated(status) for status in work.status.manifest_statuses)


def _is_being_updated(status: ManifestStatus) -> bool:
    fields = mapping_in({"status": status.status}, "status")
    if "updatedReplicas" not in fields and status.identifier.kind not in ("Deployment", "StatefulSet"):
        return False
    return plausible_count(fields.get("replicas")) > plausible_count(fields.get("updatedReplicas"))
