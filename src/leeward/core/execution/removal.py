"""Removals that must not be made yet; `removal_conditions` tells of them.

is_order_about     if the order is about an object that its member has under that name
why_removal_waits  why the removal of a copy waits: its cluster is away, or others do not surely serve all that is asked
                   for
settles_at         when decisions have followed the return of a cluster, and whether they have (has_settled)
held_scale_downs   which scale-downs wait: the law keeps the copy, or its cluster is away
may_change_holds   if a change of a cluster can let what waits go, or have more wait
purged_now         which copies are purged `Directly` now, one after the other
held_by_purge      which Works stay as they are until a purged copy is gone
is_return_kept     if a copy stays that had been removed, and that its member brings back
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from kubeapi.meta import ReadOnlyManifest, parse_time
from kubeapi.unstructured import text_at
from leeward.api.cluster import Cluster
from leeward.api.names import CONDITION_TAINT_KEYS
from leeward.api.ordinals import volumes_follow
from leeward.api.purge_mode import PurgeMode, rules_of
from leeward.api.work import (
    BRAKE_ENGAGED,
    CLUSTER_NOT_READY,
    REPLACEMENT_LOST,
    Binding,
    GracefulEvictionTask,
    ResourceBindingSpec,
    Work,
    is_application,
)
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.cluster_health.ready_condition import BEFORE_ALL, unobserved
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.copies.disruption import NO_SIZES, CopyTable, copies_of
from leeward.core.copies.evidence import is_fresh, is_uncounted
from leeward.core.eviction.shared_resources import is_shared
from leeward.core.eviction.tasks import TaskReason, reason_of
from leeward.core.execution.ownership import template_uids
from leeward.core.execution.work_generation import has_work_id
from leeward.core.execution.works import needed_by_others
from leeward.core.scheduling.affinity import is_in_any_term

NOT_REPLACED = "NotReplaced"
RETURN_SETTLES = timedelta(seconds=1)
"""Time after which a placement has followed the return of a cluster that has no taint of its outage any more."""


def is_order_about(work: Work, manifest: ReadOnlyManifest, observed: ReadOnlyManifest, *, found: bool) -> bool:
    """Tells whether the deletion of the Work is about this object in its member: it was made of the same template.

    A control plane that is restored gives an order once more, or `found` it given: the object may have been made since.
    So may one of a template that it has forgotten, whoever deploys its name anew. Where nobody says of which template
    an object was made, it is older than such an order. An order that was found deletes an object of a shared kind only
    where that carries the Work's permanent id: whoever has wanted the object since has given it another Work.
    """
    made, there = template_uids([manifest]), template_uids([observed])
    if found and is_shared(manifest["apiVersion"], manifest["kind"]):
        return bool(made) and made == there and has_work_id(observed, manifest)
    if made and there:
        return made == there
    at, created = work.metadata.deletion_timestamp, text_at(observed, "metadata", "creationTimestamp")
    return not found or at is None or not created or parse_time(created) <= at


def why_removal_waits(
    spec: ResourceBindingSpec,
    cluster: str,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    attention: Attention,
    now: datetime,
    *,
    needs: Mapping[str, int] = NO_SIZES,
    brake: bool = False,
    needed_by: Sequence[CopyTable] = (),
    at_once: bool = False,
) -> str:
    """Reason for which the copy in `cluster`, which is not wanted there, stays for now; empty where it may go.

    `works` are those of the binding, by cluster; `needs` are those of `copies_of`. Nothing goes while its cluster is
    away, nor what was to go then under the brake (S4). Else the law keeps the copy, whoever has asked for the removal
    (S1), but for one that goes `at_once`. One that the user has moved away waits for no dead target. After a gap of the
    heartbeat the members are looked at first (S13, decision 48). A person's word ends the wait. Holds: S1, S4, S13.
    """
    own, work = clusters.get(cluster), works[cluster]
    is_missed = only_follows(spec) or not spec.asks_for_none
    if own is None or own.is_being_deleted or not is_missed or work.is_ended_by_a_person:
        return ""
    asked_at, is_back = work.metadata.deletion_timestamp, has_settled(own, now)
    is_older = asked_at is not None and attention.time.has_gap_since(asked_at)
    if is_older and not attention.has_settled(now):
        return REPLACEMENT_LOST
    has_waited = not is_back or work.is_held_since_away or _was_away(own, asked_at)
    if only_follows(spec):
        may_go = not (is_older or has_waited) or all(each.is_served for each in needed_by)
    elif brake and has_waited:
        return BRAKE_ENGAGED
    else:
        known = copies_of(spec, works, clusters, now, needs=needs, watched=attention.has_settled(now))
        copies = known if is_in_any_term(spec, own) else known.of_a_move()
        may_go = (at_once and not (has_waited or is_older)) or copies.may_disrupt({cluster: 0})
        may_go = may_go or _is_nobodys(spec, work, works, clusters)
    return CLUSTER_NOT_READY if not is_back else "" if may_go else REPLACEMENT_LOST if has_waited else NOT_REPLACED


def settles_at(cluster: Cluster) -> datetime | None:
    """Instant at which decisions have followed the cluster's last return; None while it is away, or has the taints of
    its outage. Placement may want there again what was to go: it says so first."""
    if not cluster.is_ready or any(taint.key in CONDITION_TAINT_KEYS for taint in cluster.taints):
        return None
    since = cluster.ready.last_transition_time if cluster.ready is not None else None
    return since + RETURN_SETTLES if since is not None else BEFORE_ALL


def has_settled(cluster: Cluster, now: datetime) -> bool:
    """Tells whether decisions have followed the cluster's last return. A later instant is of a clock that is ahead."""
    settles = settles_at(cluster)
    return settles is not None and not now < settles <= now + RETURN_SETTLES


def goes_at_once(binding: Binding) -> bool:
    """Tells whether a copy that can be reached goes when it is not wanted there any more, whatever others serve.

    It runs nothing: the same Secret or Role elsewhere replaces nothing, and whoever takes it away revokes it. Or two
    copies must not run beside each other: the policy says Directly, or its volumes follow.
    """
    failover = binding.spec.failover
    ways = (failover.cluster, failover.application) if failover is not None else ()
    modes = [PurgeMode(way.purge_mode) for way in ways if way is not None and way.purge_mode]
    is_alone = any(not rules_of(mode).keeps_copy for mode in modes)
    return is_alone or volumes_follow(binding) or not is_application(binding)


def _is_nobodys(
    spec: ResourceBindingSpec, work: Work, works: Mapping[str, Work], clusters: Mapping[str, Cluster]
) -> bool:
    """Tells whether nobody can say how much a copy serves, while every target reports: to wait brings nothing."""
    reports = ((works.get(target.name), clusters.get(target.name)) for target in spec.clusters)
    return is_uncounted(work) and all(is_fresh(told, cluster) for told, cluster in reports)


def held_scale_downs(copies: CopyTable, left: Mapping[str, int], clusters: Mapping[str, Cluster]) -> frozenset[str]:
    """Copies that keep replicas which they are to give up; `left` are those to which they would shrink.

    A copy shrinks where the law lets it, and while its cluster can be seen. What others give up at the same time is
    taken into account. Holds: S1.
    """
    taken = dict[str, int]()
    for name, stays in left.items():
        own = clusters.get(name)
        if own is None or own.is_being_deleted or (own.is_ready and copies.may_disrupt({**taken, name: stays})):
            taken[name] = stays
    return frozenset(left.keys() - taken.keys())


def may_change_holds(old: Cluster | None, new: Cluster | None) -> bool:
    """Tells whether a change of a cluster can change which removals and scale-downs wait.

    A fact of a cluster that the law begins to read (`core.copies`) needs a place here.
    """
    before, after = (
        each and (settles_at(each), each.is_ready, is_failing(each), unobserved(each) is None, each.is_being_deleted)
        for each in (old, new)
    )
    return before != after


def is_return_kept(copies: Sequence[CopyTable], *, brake: bool) -> bool:
    """Tells whether what a member brings back of a Work that is gone is not to be removed once more for now: `copies`
    are those that are asked for in its stead. Holds: S1, S4."""
    return bool(copies) and (brake or not all(each.is_served for each in copies))


def only_follows(spec: ResourceBindingSpec) -> bool:
    """Tells whether this is a dependency that is nowhere but where others need it."""
    return spec.placement is None and not spec.clusters


def _was_away(cluster: Cluster, asked_at: datetime | None) -> bool:
    """Tells whether the cluster was away since the deletion was asked for, or when that was."""
    ready_since = cluster.ready.last_transition_time if cluster.ready is not None else None
    return asked_at is not None and ready_since is not None and asked_at <= ready_since


def purged_now(spec: ResourceBindingSpec, clusters: Collection[str]) -> frozenset[str]:
    """The clusters whose copies are to be gone at once; `clusters` have a Work.

    What is well and leaves its affinity term with a lost copy, because volumes have one writer at a time, serves until
    the lost one is known to be gone: nothing can replace it before. Holds: S1, S7.
    """
    purged = [task for task in spec.graceful_eviction_tasks if not task.purge_rules.keeps_copy]
    there = set(clusters) - needed_by_others(spec)
    is_waiting = any(task.from_cluster in there and not _only_follows(task) for task in purged)
    return frozenset(task.from_cluster for task in purged if not (is_waiting and _only_follows(task)))


def held_by_purge(growth: Mapping[str, int | None]) -> frozenset[str]:
    """The clusters whose Works stay as they are while a purged copy is not known to be gone, by how many more replicas
    each would ask for: None where it is not there, or nobody can say.

    Nothing grows then. And where anything would, nothing shrinks: what was to replace it is not made. Holds: S1, S7.
    """
    if all(more is not None and more <= 0 for more in growth.values()):
        return frozenset()
    return frozenset(cluster for cluster, more in growth.items() if more != 0)


def _only_follows(task: GracefulEvictionTask) -> bool:
    return reason_of(task) is TaskReason.AFFINITY_TERM_LEFT
