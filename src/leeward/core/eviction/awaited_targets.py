"""Awaited targets: clusters that took the place of copies of which no eviction task tells any more.

A cluster that is unjoined and a changed placement take copies away at once, and an eviction task can end by time; from
then on nothing in the spec says that what is placed elsewhere replaces something, so that a cluster that takes nothing
would swallow it. These targets are remembered in an annotation of the binding, each with the instant from which its
time counts, until they are seen healthy; `stalled_replacements` judges them as it judges those of a failover. With
another release their time begins anew; scaling is none (`binding_release`).

Holds: L2. Karmada has no such thing.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object
from leeward.api.cluster import Cluster
from leeward.api.names import AWAITED_TARGETS_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.copies.availability import availability
from leeward.core.copies.evidence import was_there_before
from leeward.core.eviction.binding_release import is_other_release, release_of
from leeward.core.eviction.task_reasons import reason_rules_of_task

_Instant = Annotated[datetime, Meta(tz=True)]


class _Remembered(Object, frozen=True):
    """`release` is as of `release_of`, `replicas` how many the template asked for then."""

    release: str = ""
    replicas: int = 0
    since: Mapping[str, _Instant] = {}


AwaitedTargets = Mapping[str, datetime]
"""The instant from which the time of each counts, by cluster."""
NONE_AWAITED: AwaitedTargets = {}


def parse_awaited_targets(binding: Binding, now: datetime) -> AwaitedTargets:
    """Parses the binding's annotation; without what nobody can read, and what lies in the future."""
    try:
        found = decode(binding.metadata.annotations[AWAITED_TARGETS_ANNOTATION].encode(), _Remembered)
    except (KeyError, DecodeError):
        return {}
    if is_other_release(binding, found.release, found.replicas):
        return dict.fromkeys(found.since, now)
    return {name: at for name, at in found.since.items() if at <= now}


def awaited_targets_patch(binding: Binding, awaited: AwaitedTargets) -> Mapping[str, str | None]:
    """The change of the binding's annotations that keeps `awaited`; empty when it is kept already."""
    remembered = _Remembered(release_of(binding), binding.spec.replicas, dict(sorted(awaited.items())))
    text = encode(remembered).decode() if awaited else None
    present = binding.metadata.annotations.get(AWAITED_TARGETS_ANNOTATION)
    return {} if text == present else {AWAITED_TARGETS_ANNOTATION: text}


def await_targets(
    binding: Binding,
    after: Sequence[TargetCluster],
    tasks: Sequence[GracefulEvictionTask],
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
    now: datetime,
) -> AwaitedTargets:
    """The targets of `after` that are awaited, once the binding has these and no other eviction tasks than `tasks`.

    None that is seen healthy, and none of a binding that asks for no replicas.
    """
    spec = binding.spec
    if spec.asks_for_none:
        return {}
    missing = [t for t in after if not availability(works.get(t.name), clusters.get(t.name), t.replicas).is_whole]
    known = parse_awaited_targets(binding, now)
    awaited = {target.name: known[target.name] for target in missing if target.name in known}
    present = {*(target.name for target in after), *(task.from_cluster for task in tasks)}
    ended = [task for task in _failovers(spec) if task.from_cluster not in present]
    if ended:
        awaited = {**_of_failover(spec, missing, works, now), **awaited}
    if any(target.name not in present for target in spec.clusters):
        awaited = {**dict.fromkeys(_grown(spec, missing), now), **awaited}
    return awaited


def _failovers(spec: ResourceBindingSpec) -> list[GracefulEvictionTask]:
    return [task for task in spec.graceful_eviction_tasks if reason_rules_of_task(task).fails_over]


def _of_failover(
    spec: ResourceBindingSpec, missing: Sequence[TargetCluster], works: Mapping[str, Work], now: datetime
) -> AwaitedTargets:
    """Targets of `missing` that replace what the eviction tasks of `spec` tell of, and since when."""
    instants = [task.creation_timestamp for task in _failovers(spec) if task.creation_timestamp is not None]
    first, began = min(instants, default=now), max(instants, default=now)
    was_there = {target.name for target in missing if was_there_before(works.get(target.name), first)}
    return {target.name: began for target in missing if spec.is_divided or target.name not in was_there}


def _grown(spec: ResourceBindingSpec, missing: Sequence[TargetCluster]) -> Collection[str]:
    """Targets of `missing` that are new, or of a divided binding have more replicas than in `spec`."""
    before = {target.name: target.replicas for target in spec.clusters}
    return [
        target.name
        for target in missing
        if target.name not in before or (spec.is_divided and target.replicas > before[target.name])
    ]
