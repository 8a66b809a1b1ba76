"""Explanation of one Work: whose it is, what of it has arrived in the member, and what is believed of its copy."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.meta import find_condition
from leeward.api.names import (
    AWAITED_GATE_ANNOTATION,
    LEAVING_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    cluster_of_execution_space,
)
from leeward.api.work import Work, awaits_gate
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.copies.availability import Availability, availability
from leeward.core.copies.evidence import is_fresh, refused_dependencies
from leeward.core.execution.held_volumes import held_in
from leeward.operations.sentences import since


class WorkExplanation(msgspec.Struct, frozen=True, rename="camel"):
    control_plane: str
    as_of: datetime
    work: str
    cluster: str
    binding: str
    headline: str
    why: list[str]
    needs_somebody: bool
    unseen: tuple[str, ...] = ()


def explain_work(state: FleetState, work: Work, key: BindingName) -> WorkExplanation:
    """Explanation of a Work of one of the picture's bindings."""
    name = cluster_of_execution_space(work.namespace)
    cluster, binding = state.clusters.get(name), state.bindings[key]
    replicas = next((target.replicas for target in binding.spec.clusters if target.name == name), 0)
    known = availability(work, cluster, replicas)
    return WorkExplanation(
        control_plane=state.control_plane,
        as_of=state.as_of,
        work=f"{work.namespace}/{work.name}",
        cluster=name,
        binding=str(key),
        headline=f"The copy in {name} is healthy"
        if known.is_whole
        else f"The copy in {name} is not known to be healthy",
        why=list(_why(state, work, name, known)),
        needs_somebody=not known.is_whole,
        unseen=state.recorded.unseen,
    )


def _removal(work: Work) -> Iterator[str]:
    """Sentence that says why what is to go is still there, in the words of the condition once it stands."""
    types = (REMOVAL_BLOCKED_CONDITION, LEAVING_CONDITION)
    told = [found for each in types if (found := find_condition(work.status.conditions, each, "True")) is not None]
    if told:
        yield from (f"{each.message.rstrip('.')} ({each.reason})." for each in told)
    elif work.is_removal_held:
        yield "The removal waits, because a cluster with its replacement is not well."


def _refused(work: Work) -> Iterator[str]:
    if refused := refused_dependencies(work):
        yield f"The cluster does not have {refused}, which the copy needs. The copy may use somebody else's."


def _awaited(work: Work) -> Iterator[str]:
    if awaits_gate(work):
        gate = work.metadata.annotations[AWAITED_GATE_ANNOTATION]
        yield f"The copy does not count as a replacement until this gate opens: {gate}."


def _why(state: FleetState, work: Work, name: str, known: Availability) -> Iterator[str]:
    cluster, applied = state.clusters.get(name), work.applied
    unseen = not_seen_since(cluster) if cluster is not None else None
    if cluster is None:
        yield f"There is no cluster {name}."
    elif unseen is not None:
        yield f"Nothing is known of {name}{since(unseen, state.as_of)}."
    if work.metadata.deletion_timestamp is not None:
        yield f"The Work is being deleted{since(work.metadata.deletion_timestamp, state.as_of)}, and first its copy."
    yield from _removal(work)
    yield from _refused(work)
    yield from _awaited(work)
    if work.spec.suspend_dispatching and not work.is_leaving:
        yield "Dispatching is suspended: nothing of the Work is applied."
    held = held_in(work)
    if held is not None:
        yield f"The Work is not made, for its volumes: {held.message}."
    elif applied is None:
        yield "Nothing of the Work has been applied yet."
    elif applied.status != "True":
        yield f"The Work could not be applied: {applied.message}"
    elif applied.observed_generation not in (0, work.metadata.generation):
        yield f"Generation {applied.observed_generation} is applied, and the Work is at {work.metadata.generation}."
    if cluster is not None and not is_fresh(work, cluster):
        yield "The last report is older than the Work's contents or the cluster's return. The health counts as unknown."
    if known.since is not None:
        yield f"{known.told} known to be ready{since(known.since, state.as_of)}."
    for status in work.status.manifest_statuses:
        yield f"{status.identifier.kind} {status.identifier.name}: {status.health or 'no health'} as last reported."
