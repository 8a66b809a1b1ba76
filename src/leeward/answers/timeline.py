"""Timeline: outages as stories, from the `Outage` objects of a picture, and turns of rollouts; the newest first."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from leeward.answers.fleet_state import FleetState
from leeward.answers.running_outage import brought_up_to_date
from leeward.answers.subjects import SubjectKind, asked_of
from leeward.api.meta import find_condition
from leeward.api.names import REPLACED_CONDITION, binding_name
from leeward.api.outage import ClusterOutage, OutageApplication, OutageSpec, OutageStatus
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.core.rollout.state import RolloutStep, short, state_of
from leeward.operations import OperationFailed
from leeward.operations.drain import workload_of
from leeward.operations.outage_story import StoryLine, Tone, headline_of, is_running, recovery_of, story_of, tally


class OutageFilter(msgspec.Struct, frozen=True):
    """Choice of outages: those that lasted into the last `since_seconds`, of a cluster, of an application (`TYPE/NAME`
    in a namespace), or the one with a name."""

    since_seconds: float | None = None
    cluster: str = ""
    application: str = ""
    namespace: str = "default"
    name: str = ""


class OutageStory(msgspec.Struct, frozen=True, rename="camel"):
    """`applications` are those that were asked for, of all that are listed in the status."""

    name: str
    cluster: str
    running: bool
    headline: str
    tally: str
    recovery: str
    story: list[StoryLine]
    applications: list[OutageApplication]
    spec: OutageSpec
    status: OutageStatus


class RolloutStory(msgspec.Struct, frozen=True, rename="camel"):
    """`steps` are the turns that the binding remembers, of those that were asked for; the oldest first."""

    application: str
    under_way: bool
    headline: str
    steps: tuple[RolloutStep, ...]


class Timeline(msgspec.Struct, frozen=True, rename="camel"):
    """`since` is the beginning of what was asked for; None for all that is kept. `narrowed`: only those of a cluster,
    of an application, or since then."""

    control_plane: str
    as_of: datetime
    since: datetime | None
    outages: list[OutageStory]
    unseen: tuple[str, ...] = ()
    narrowed: bool = False
    rollouts: list[RolloutStory] = []

    @property
    def is_running(self) -> bool:
        return any(outage.running for outage in self.outages)


def timeline(state: FleetState, asked: OutageFilter) -> Timeline:
    """Raises: OperationFailed where a name or a cluster is asked for that is not there, or an application is named
    wrongly."""
    since = None if asked.since_seconds is None else state.as_of - timedelta(seconds=asked.since_seconds)
    wanted = _binding_of(asked)
    outages = (brought_up_to_date(outage, state) for outage in state.recorded.outages)
    found = [outage for outage in outages if _is_asked_for(outage, asked, since)]
    if asked.name and not found:
        raise OperationFailed(f"there is no Outage {asked.name!r}: `leeward timeline` lists them")
    if asked.cluster and not found and asked.cluster not in state.clusters:
        known = ", ".join(sorted(state.clusters)) or "none has joined"
        raise OperationFailed(f"--cluster {asked.cluster!r}: there is no such cluster; choose from {known}")
    stories = [_story(outage, state, wanted) for outage in found]
    told = [story for story in stories if wanted is None or story.applications]
    told.sort(key=lambda story: (not story.running, -story.spec.since.timestamp(), story.name))
    narrowed = bool(asked.cluster or asked.application or since)
    rollouts = [] if asked.name else sorted(_rollouts(state, asked, since, wanted), key=lambda each: each.steps[-1].at)
    return Timeline(state.control_plane, state.as_of, since, told, state.recorded.unseen, narrowed, rollouts[::-1])


def _rollouts(
    state: FleetState, asked: OutageFilter, since: datetime | None, wanted: frozenset[tuple[str, str]] | None
) -> Iterator[RolloutStory]:
    """Rollouts of the applications asked for; of a whole fleet those under way, or with a turn within a day."""
    begins = since or (state.as_of - timedelta(days=1) if wanted is None else None)
    for key, binding in state.bindings.items():
        known, condition = state_of(binding, state.as_of), find_condition(binding.status.conditions, ROLLOUT_CONDITION)
        is_there = asked.cluster in ("", *(target.name for target in binding.spec.clusters))
        if known is None or condition is None or not is_there or (wanted is not None and key not in wanted):
            continue
        is_under_way = condition.status == "True"
        steps = tuple(each for each in known.steps if is_under_way or begins is None or each.at >= begins)
        if steps:
            said = f"rollout of revision {short(known.target)} is {condition.reason}"
            yield RolloutStory(workload_of(binding), is_under_way, said, steps)


def _is_asked_for(outage: ClusterOutage, asked: OutageFilter, since: datetime | None) -> bool:
    ended = outage.status.returned_at
    lasted = since is None or is_running(outage) or (ended or outage.spec.since) >= since
    return lasted and asked.cluster in ("", outage.spec.cluster) and asked.name in ("", outage.name)


def _binding_of(asked: OutageFilter) -> frozenset[tuple[str, str]] | None:
    """Namespaces and names of the bindings that the application may have. Raises: OperationFailed."""
    if not asked.application:
        return None
    subject = asked_of(asked.application, asked.namespace)
    if subject.kind is not SubjectKind.TEMPLATE:
        raise OperationFailed(f"--app {asked.application!r} is no application: write deploy/web or sts/ledger")
    return frozenset((name.namespace, name.name) for name in subject.bindings)


def _rebuilt(outage: ClusterOutage, state: FleetState) -> Iterator[StoryLine]:
    """Line that tells that another cluster has come back under the name, or that this was accepted; of the last outage
    of the cluster."""
    cluster = state.clusters.get(outage.spec.cluster)
    found = find_condition(cluster.status.conditions, REPLACED_CONDITION) if cluster is not None else None
    at = found.last_transition_time if found is not None else None
    if found is None or at is None or at < outage.spec.since:
        return
    of_cluster = (each.spec for each in state.recorded.outages if each.spec.cluster == outage.spec.cluster)
    if any(outage.spec.since < each.since <= at for each in of_cluster):
        return
    tone = Tone.NEEDS_SOMEBODY if found.status == "True" else Tone.GOOD
    yield StoryLine(at, int((at - outage.spec.since).total_seconds()), tone, found.message)


def _story(outage: ClusterOutage, state: FleetState, wanted: frozenset[tuple[str, str]] | None) -> OutageStory:
    listed = outage.status.listed
    shown = [
        each for each in listed if wanted is None or (each.namespace, binding_name(each.kind, each.name)) in wanted
    ]
    return OutageStory(
        name=outage.name,
        cluster=outage.spec.cluster,
        running=is_running(outage),
        headline=headline_of(outage, state.as_of),
        tally=tally(outage),
        recovery=recovery_of(outage),
        story=[*story_of(outage, state.as_of, state.settings), *_rebuilt(outage, state)],
        applications=shown,
        spec=outage.spec,
        status=outage.status,
    )
