"""Sizes: replicas that the Works of a binding ask for, where these are others than the binding gives its clusters.

A member's own autoscaler may run more replicas than the binding says. What replaces such a copy is made as large as
that, and its Work says so until the copy is gone (`Work.replicas`). The law then asks for what the members are to run
(`core.copies.disruption`). Meanwhile the autoscaler that follows the application keeps that many, as a floor: it knows
nothing yet of the load that is to come.

A size never falls while the copy is there, nor in the five minutes after it: its load has to arrive. What a lost
cluster told last counts, too. What members report counts only where somebody lets them decide: by an autoscaler that
the control plane propagates, up to its maximum, or by the label `retain-replicas`.

Holds: S1, S10. Karmada makes each copy as large as the binding says.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time, parse_time
from leeward.api.cluster import Cluster
from leeward.api.names import REPLICAS_ANNOTATION
from leeward.api.work import Binding, ResourceBindingSpec, Work
from leeward.core.copies.evidence import is_about_present, running_replicas
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.interpreter.fields import int_at, value_at
from leeward.core.scheduling.division import divide

_UNTIL = " until "
LOAD_ARRIVES = timedelta(minutes=5)
"""Time for which a size is kept once the old copy is gone; so long Kubernetes' autoscalers wait before they shrink
anything."""


def leaving_copies(
    spec: ResourceBindingSpec, works: Mapping[str, Work], clusters: Mapping[str, Cluster]
) -> frozenset[str]:
    """Clusters whose copies are replaced: those of eviction tasks, and those that are not wanted. What was not
    wanted while its cluster was away has no load any more."""
    if spec.asks_for_none or not spec.is_workload or spec.resource.kind == "Job":
        return frozenset()
    tasks = (task for task in spec.graceful_eviction_tasks if task.suppress_deletion is not False)
    left = {task.from_cluster for task in tasks if task.purge_rules.keeps_copy}
    unwanted = (name for name in works.keys() - replicas_by_cluster(spec).keys() if not works[name].is_held_since_away)
    return frozenset(left | {name for name in unwanted if (home := clusters.get(name)) is not None and home.is_ready})


def surplus(work: Work, asked: int) -> int:
    """Number of replicas beyond those `asked` for: those that serve in a member, as was told last of the present Work,
    or by which the Work was made larger."""
    running = running_replicas(work) if is_about_present(work) else 0
    return max(0, running - asked, (work.replicas or 0) - asked)


def sizes(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    left: frozenset[str],
    more: Mapping[str, int],
    most: int | None,
) -> dict[str, int]:
    """Sizes of the targets that replace the copies that are `left`; where none is, of those whose Works have one still.
    `more` is the surplus of each copy; an autoscaler runs at `most` so many.

    Of a divided binding each target gets its share. Else a new target is as large as the largest that is left.
    """
    counts, targets = replicas_by_cluster(spec), [target.name for target in spec.clusters]
    gone = [more.get(name, 0) for name in left.difference(targets)]
    wanted = {name: counts[name] + max(gone, default=0) for name in targets if _is_new(works.get(name))}
    if not left:
        wanted = {name: counts[name] for name in targets if _made(works.get(name))}
    elif spec.is_divided:
        wanted = _shares(spec, works, left.difference(targets), more)
    made = {name: max(size, _made(works.get(name))) for name, size in wanted.items()}
    return made if most is None else {name: min(size, most) for name, size in made.items()}


def _shares(
    spec: ResourceBindingSpec, works: Mapping[str, Work], gone: frozenset[str], more: Mapping[str, int]
) -> dict[str, int]:
    """Sizes of targets that share the surplus of what is `gone`. One whose Work has no size yet keeps its own surplus;
    what leaves with a size may come from that, after a drain that was undone. Nothing is counted twice."""
    counts, targets = replicas_by_cluster(spec), [target.name for target in spec.clusters]
    weights, uid = {name: counts[name] for name in targets}, spec.resource.uid
    sized = frozenset(name for name in gone if _made(works.get(name)))
    first, again = (divide(sum(more.get(n, 0) for n in part), weights, uid=uid) for part in (gone - sized, sized))
    own = {name: more.get(name, 0) * _is_unsized(works.get(name)) for name in targets}
    return {name: counts[name] + first.get(name, 0) + max(own[name], again.get(name, 0)) for name in targets}


def with_sizes(binding: Binding, wanted: Mapping[str, int]) -> Binding:
    """The binding whose copies have so many replicas in all: targets, and those that leave."""
    spec = binding.spec
    targets, counts = {target.name for target in spec.clusters}, replicas_by_cluster(spec)
    more = {name: size - counts[name] for name, size in wanted.items()}
    clusters = tuple(msgspec.structs.replace(t, replicas=t.replicas + more.get(t.name, 0)) for t in spec.clusters)
    tasks = tuple(
        msgspec.structs.replace(task, replicas=wanted[name])
        if (name := task.from_cluster) in wanted and name not in targets
        else task
        for task in spec.graceful_eviction_tasks
    )
    sized = msgspec.structs.replace(spec, clusters=clusters, graceful_eviction_tasks=tasks)
    return msgspec.structs.replace(binding, spec=sized)


def floors(spec: ResourceBindingSpec, works: Mapping[str, Work], clusters: Mapping[str, Cluster]) -> Mapping[str, int]:
    """Replicas that the autoscalers of an application keep in its targets, while one of its copies leaves."""
    counts = replicas_by_cluster(spec) if leaving_copies(spec, works, clusters) else {}
    found = {t.name: _made(works.get(t.name)) or counts.get(t.name, 0) for t in spec.clusters}
    return {name: floor for name, floor in found.items() if floor}


def kept_until(work: Work | None, now: datetime) -> datetime | None:
    """Instant until which a size is kept that nothing asks for any more; None where there is none, or that is over."""
    if work is None or work.replicas is None:
        return None
    text = work.metadata.annotations[REPLICAS_ANNOTATION].partition(_UNTIL)[2]
    try:
        until = min(parse_time(text), now + LOAD_ARRIVES) if text else now + LOAD_ARRIVES
    except ValueError:
        return None
    return until if until > now else None


def size_text(size: int, until: datetime | None) -> str:
    """Text of `leeward.dev/replicas`."""
    return str(size) if until is None else f"{size}{_UNTIL}{format_time(until)}"


def with_floor(autoscaler: ReadOnlyManifest, floor: int) -> ReadOnlyManifest:
    """The autoscaler with this minimum, if its own is lower; not beyond its maximum."""
    least, bound = value_at(autoscaler, "spec", "minReplicas"), min(floor, int_at(autoscaler, "spec", "maxReplicas"))
    if bound <= (least if isinstance(least, int) else 1):
        return autoscaler
    changed: Manifest = {**autoscaler, "spec": {**autoscaler["spec"], "minReplicas": bound}}
    return changed


def _is_new(work: Work | None) -> bool:
    return work is None or work.replicas is not None


def _is_unsized(work: Work | None) -> bool:
    return work is not None and work.replicas is None


def _made(work: Work | None) -> int:
    return (work.replicas or 0) if work is not None else 0
