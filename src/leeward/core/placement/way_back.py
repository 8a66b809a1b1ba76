"""The way back of a binding: where a failback is to bring it, and whether it may begin now.

    within an affinity term     its original placement
    in a later term             the first term from that of its original placement on that fits: each cluster that would
                                get replicas has been healthy for long enough, is not held down, and has room for them.
                                The original placement comes first there, else the scheduler's answer
    between two terms           the goal that it is on its way to; another one in that term where its cluster is lost

Only asks; the steps are those of `eviction.failback`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from leeward.core.eviction.failback import Failback, may_return, trusted_at
from leeward.core.eviction.original_placement import OriginalPlacement, goal_of
from leeward.core.placement.ranks import candidates
from leeward.core.placement.situation import Situation
from leeward.core.scheduling import Placed, schedule
from leeward.core.scheduling.affinity import affinity_names, common_term, is_in_term, with_term_alone
from leeward.core.scheduling.candidates import feasible_in, fits_in
from leeward.core.scheduling.model import Request

LOOK_AGAIN = timedelta(minutes=1)
"""Pause after which room is looked for again in a term that had not enough."""


@dataclass(frozen=True, slots=True)
class TermReturn:
    """`goal`: replicas by cluster in another affinity term; None: the original placement is in the same term. `begins`:
    nothing is there yet."""

    goal: Mapping[str, int] | None = None
    begins: bool = False


def find_way_back(at: Situation, original: OriginalPlacement) -> TermReturn | Failback:
    """The way back, or else the memory to keep and when to look again."""
    own, clusters = at.own_binding, at.clusters
    names, observed = affinity_names(own.spec), own.status.scheduler_observing_affinity_name
    aimed = common_term(own, original.clusters, clusters)
    if at.is_between_terms:
        return _first_that_fits(at, original, () if aimed is None else (aimed,))
    home = original.term or aimed
    if home is None or home == observed or len(names) < 2:
        return TermReturn()
    if not {home, observed} <= {*names}:
        return TermReturn() if aimed == observed else Failback(None)
    earlier = names[names.index(home) : names.index(observed)]
    return _first_that_fits(at, original, earlier) if earlier else Failback(None)


def _first_that_fits(at: Situation, original: OriginalPlacement, terms: tuple[str, ...]) -> TermReturn | Failback:
    """The way to the first of these terms that fits; one that soon may is waited for, so that nothing moves twice."""
    look_at: datetime | None = None
    for term in terms:
        members = _members_of(at, original, term)
        known = _known(at, original, term)
        if known and _fits(at, known, members):
            return TermReturn(known, begins=not at.is_between_terms)
        if members.later:
            return Failback(original, wake_at=min(members.later))
        if not members.trusted:
            continue
        found = _scheduled(at, members)
        if found and _fits(at, found, members):
            return TermReturn(found, begins=not at.is_between_terms)
        look_at = at.now + LOOK_AGAIN
    return Failback(original, wake_at=look_at)


@dataclass(frozen=True, slots=True)
class _Members:
    """Clusters of an affinity term: those that may get replicas now, those that may not, and when one of these may."""

    term: str
    trusted: frozenset[str]
    barred: frozenset[str]
    later: tuple[datetime, ...]


def _members_of(at: Situation, original: OriginalPlacement, term: str) -> _Members:
    spec, options, time = at.own_binding.spec, at.failback_options, at.snapshot.attention.time
    not_before = time.moved(original.at) + timedelta(seconds=options.after_seconds)
    found = feasible_in(Request(spec, term), at.clusters)
    instants = {each.name: trusted_at(each, options, time) for each in found}
    trusted_from = {name: max(instant, not_before) for name, instant in instants.items() if instant is not None}
    trusted = frozenset(
        each.name
        for each in found
        if each.name in trusted_from and trusted_from[each.name] <= at.now and may_return(spec, term, each, at.now)
    )
    later = tuple(instant for instant in trusted_from.values() if instant > at.now)
    return _Members(term, trusted, frozenset(instants) - trusted, later)


def _known(at: Situation, original: OriginalPlacement, term: str) -> Mapping[str, int]:
    """The original placement, where it is in this term; else empty."""
    spec, clusters = at.own_binding.spec, at.clusters
    known = goal_of(original, spec, clusters)
    return known if all(is_in_term(spec, term, clusters.get(name)) for name in known) else {}


def _scheduled(at: Situation, members: _Members) -> Mapping[str, int]:
    """Placement in the term on clusters that are trusted, as the scheduler makes it; empty where there is none."""
    spec, status = at.own_binding.spec, at.own_binding.status
    bare = msgspec.structs.replace(with_term_alone(spec, members.term), clusters=(), graceful_eviction_tasks=())
    result = schedule(bare, status, candidates(bare, at.clusters, at.now, members.barred))
    if not isinstance(result, Placed):
        return {}
    return {target.name: target.replicas if spec.is_divided else spec.replicas for target in result.clusters}


def _fits(at: Situation, goal: Mapping[str, int], members: _Members) -> bool:
    """Tells whether each cluster that is to get replicas may have them, and has room for them."""
    spec = at.own_binding.spec
    held = spec.assigned
    missing = {name: count - held.get(name, 0) for name, count in goal.items() if held.get(name, -1) < count}
    return all(
        name in members.trusted and fits_in(Request(spec), at.clusters, name, count) for name, count in missing.items()
    )
