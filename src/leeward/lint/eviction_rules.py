"""Rules about evictions that do not begin: what a policy tolerates, and what is switched off or left to others."""

from collections.abc import Iterator
from dataclasses import replace

from kubeapi.core import Taint
from kubeapi.toleration import tolerates
from leeward.api.names import NOT_READY_TAINT, UNREACHABLE_TAINT
from leeward.api.work import BindingResource, ResourceBindingSpec
from leeward.core.cluster_health.condition_taints import NO_EXECUTE
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.placement import PlacementSettings
from leeward.core.placement.snapshot import may_schedule
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import EPOCH, LintPolicy
from leeward.lint.picture import LintPicture
from leeward.lint.placements import may_move
from leeward.lint.selected_kinds import selects_only_shared_kinds, selects_replicas

_TOLERATIONS = ("spec", "placement", "clusterTolerations")


def tolerated_for_ever(picture: LintPicture) -> Iterator[Diagnostic]:
    for policy in picture.policies:
        placement = policy.policy.spec.placement
        if selects_only_shared_kinds(policy.policy) or not may_move(placement, selects_replicas(policy.policy)):
            continue
        for key in (NOT_READY_TAINT, UNREACHABLE_TAINT):
            taint = Taint(key=key, effect=NO_EXECUTE, time_added=EPOCH)
            if decide_stay([taint], placement.cluster_tolerations, EPOCH).due is None:
                at = next(i for i, each in enumerate(placement.cluster_tolerations) if tolerates(each, taint))
                said = f"{policy} tolerates {key}:{NO_EXECUTE} for ever: nothing that it places leaves a cluster that"
                why = "is not ready" if key == NOT_READY_TAINT else "cannot be reached"
                yield Diagnostic(policy.source, f"{said} {why}", (*_TOLERATIONS, at))
                break


def foreign_scheduler(picture: LintPicture) -> Iterator[Diagnostic]:
    settings = PlacementSettings() if picture.state is None else picture.state.settings.placement
    for policy in picture.policies:
        name = policy.policy.spec.scheduler_name
        asked = ResourceBindingSpec(resource=BindingResource("", "", ""), scheduler_name=name)
        if not may_schedule(asked, replace(settings, place=True)):
            yield Diagnostic(
                policy.source,
                f"{policy} leaves placing to the scheduler {name}: {settings.scheduler_name} gives its templates no "
                "place, and no other one if their cluster is lost",
                ("spec", "schedulerName"),
            )


def switched_off(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds what flags and gates of the control plane switch off, as far as it tells them."""
    settings = None if picture.state is None else picture.state.settings
    if settings is None or not settings.told:
        return
    placement = settings.placement
    if not settings.no_execute:
        yield Diagnostic(
            None,
            "a cluster that is down gets no NoExecute taint, and nothing leaves it",
            mend="set --feature-gates=Failover=true, the default",
        )
    elif not placement.evict:
        yield Diagnostic(
            None,
            "NoExecute taints evict nothing",
            mend="set --enable-taint-manager=true and --enable-no-execute-taint-eviction=true, the defaults",
        )
    if settings.evictions_per_second == 0:
        yield Diagnostic(
            None,
            "one application in half an hour leaves clusters that are down",
            mend="set --resource-eviction-rate to more than 0, or leave it out",
        )
    if not placement.graceful:
        yield Diagnostic(
            None,
            "an old copy is deleted before its replacement is healthy",
            mend="set --feature-gates=GracefulEviction=true, the default",
        )
    if not placement.watch:
        yield from map(_unwatched, filter(_asks_for_application_failover, picture.policies))


def suspended(picture: LintPicture) -> Iterator[Diagnostic]:
    for policy in picture.policies:
        suspension = policy.policy.spec.suspension
        if suspension is None:
            continue
        path = ("spec", "suspension")
        if suspension.dispatching:
            said = f"{policy} is suspended: when a cluster is lost, no copy is created in another cluster"
            yield Diagnostic(policy.source, said, (*path, "dispatching"))
        clusters = suspension.dispatching_on_clusters
        if clusters is not None and clusters.cluster_names:
            said = f"{policy} is suspended for {', '.join(clusters.cluster_names)}: nothing new is created there"
            yield Diagnostic(policy.source, said, (*path, "dispatchingOnClusters"))


def _asks_for_application_failover(policy: LintPolicy) -> bool:
    failover = policy.policy.spec.failover
    return failover is not None and failover.application is not None


def _unwatched(policy: LintPolicy) -> Diagnostic:
    said = f"{policy} asks for application failover, which is switched off"
    mend = "set --feature-gates=Failover=true and --enable-taint-manager=true, the defaults"
    return Diagnostic(policy.source, said, ("spec", "failover", "application"), mend)
