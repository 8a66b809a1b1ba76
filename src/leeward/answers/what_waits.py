"""Waits of an application in an imagined outage: its replacements for gates, and its rollout for who is not seen.

A rollout is decided by the function that decides it, on the clusters as they would be. Gates are not looked at.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

import msgspec

from leeward.answers.fates import ApplicationFate
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.moving_group import group_sentence
from leeward.answers.projection import HORIZON, Projection
from leeward.api.cluster import Cluster
from leeward.api.failback import OptionFault
from leeward.api.gates import parse_gates
from leeward.api.names import KEEP_UNTIL_ANNOTATION, WAIT_FOR_ANNOTATION
from leeward.api.rollout import ROLLOUT_ANNOTATION, parse_rollout
from leeward.api.work import Binding
from leeward.core.execution.gates import described, gate_values
from leeward.core.rollout.rollout_decision import RolloutDecision
from leeward.core.rollout.staged_revisions import decide_rollout
from leeward.core.rollout.standings import standings_of
from leeward.core.rollout.state import short, state_of, wishes_of


def with_waits(
    state: FleetState, change: ImaginedChange, found: Projection, fates: Collection[ApplicationFate]
) -> list[ApplicationFate]:
    keys = {str(key): key for key in state.bindings}
    return [_with_waits(state, change, found, keys[each.binding], each) for each in fates]


def _with_waits(
    state: FleetState, change: ImaginedChange, found: Projection, key: BindingName, fate: ApplicationFate
) -> ApplicationFate:
    binding, then = state.bindings[key], found.worst.bindings[key]
    new = [name for name in fate.after if name not in fate.before]
    gates = list(_gates(binding, new)) if fate.left_at is not None else []
    rollout = list(_rollout(state, change, found, (key, binding, then)))
    group = tuple(group_sentence(state, binding)) if fate.left_at is not None or fate.reason else ()
    return msgspec.structs.replace(fate, gates=tuple(gates), rollout=tuple(rollout), group=group)


def _gates(binding: Binding, new: Collection[str]) -> Iterator[str]:
    for annotation, what in (
        (WAIT_FOR_ANNOTATION, "the replacement in {} does not start until {} opens"),
        (KEEP_UNTIL_ANNOTATION, "the old copy stays beside the replacement in {} until {} opens"),
    ):
        if annotation not in binding.metadata.annotations:
            continue
        for cluster in new:
            try:
                gates = parse_gates(annotation, binding.metadata.annotations)
            except OptionFault as error:
                yield what.format(cluster, f"its unreadable gate ({error})")
                continue
            named = (each.in_cluster(gate_values(binding, cluster)) for each in gates)
            yield what.format(cluster, " and ".join(f"its gate on {described(each)}" for each in named))


def _rollout(
    state: FleetState, change: ImaginedChange, found: Projection, of: tuple[BindingName, Binding, Binding]
) -> Iterator[str]:
    """Sentences on a rollout under way: why it stops in the outage, and which revision a replacement starts with."""
    key, before, then = of
    clusters = {**state.clusters, **found.worst.clusters}
    left = found.departures.get(key)
    at = left[0].at if left else state.as_of + HORIZON
    stops, goes_on = (_decided(state, key, each, clusters, at) for each in (before, then))
    if stops is None or goes_on is None:
        return
    if any(target.name in change.fails for target in before.spec.clusters):
        yield f"the rollout of revision {short(stops.state.target)} waits. {stops.message}"
    known = {target.name for target in before.spec.clusters}
    for target in then.spec.clusters:
        if target.name not in known:
            revision = goes_on.revisions.get(target.name, "")
            proven = ", which has served everywhere" if revision == stops.state.proven else ""
            yield f"the replacement in {target.name} starts with revision {short(revision)}{proven}"


def _decided(
    state: FleetState, key: BindingName, binding: Binding, clusters: Mapping[str, Cluster], now: datetime
) -> RolloutDecision | None:
    """Decision at an instant about the rollout of a binding that is so; None where none is under way."""
    works = state.works_of(key)
    known, text = state_of(state.bindings[key], state.as_of), binding.metadata.annotations.get(ROLLOUT_ANNOTATION)
    if known is None or not known.is_under_way or text is None:
        return None
    try:
        strategy = parse_rollout(text)
    except OptionFault:
        return None
    names = [target.name for target in binding.spec.clusters]
    standings = standings_of(binding.spec, works, names, clusters, now, known.target)
    revisions = (known.target, known.proven, known.previous)
    return decide_rollout(strategy, known, known.target, standings, wishes_of(binding), now, revisions)
