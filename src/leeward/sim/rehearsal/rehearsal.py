"""A rehearsal: a picture and a scenario go in, and what happened, with what was expected of it, comes out.

    report = rehearse(state, parse_scenario(data))

Time is virtual, and all is drawn from one seed: the same picture and scenario give the same report.
"""

import asyncio
from datetime import datetime, timedelta

import msgspec

from kubeapi.loop import DeadlockError, EndlessError, run_virtual
from kubeclient import WorldError
from leeward.answers.fleet_state import API_VERSION, KIND, BindingName, FleetState, RecordedFleet
from leeward.answers.timeline import OutageFilter, OutageStory, timeline
from leeward.api.names import binding_name
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.operations.clusters import is_application
from leeward.operations.drain import workload_of
from leeward.sim.rehearsal.copied_world import CopiedWorld
from leeward.sim.rehearsal.expectations import Chosen, ExpectationResult, choose, judge
from leeward.sim.rehearsal.fleet_recorder import FleetRecorder, Happened, Happening, held_reason
from leeward.sim.rehearsal.rebuilt_templates import rebuild_templates
from leeward.sim.rehearsal.scenario_file import Scenario, ScenarioProblem
from leeward.sim.rehearsal.scenario_steps import PlannedStep, ScenarioSteps, plan_steps, several_nodes

MOST_CLUSTERS, MOST_BINDINGS, MOST_REPLICAS = 60, 2_000, 10_000
LOOK_SECONDS = 10.0
"""Seconds after which at latest a second opinion is asked about replicas without a place."""
MOST_TURNS = 200_000_000
"""Number of turns that the virtual loop may make; a rehearsal of the greatest size needs a tenth of it."""
CLEANING = timedelta(minutes=1)
"""Time behind the end of an outage in which events of its cluster, and holds, belong to it."""


class RehearsalFailed(Exception):
    """Reason for which it could not be played, for people."""


class RehearsedEvent(msgspec.Struct, frozen=True, rename="camel"):
    """`at` is by the clock of the copy; `after_seconds` count from the scenario's beginning.

    `cluster` of what has moved are those that it left, with commas. `in_outage`: the story of an outage tells it, too.
    """

    at: datetime
    after_seconds: float
    what: Happening
    sentence: str
    cluster: str = ""
    binding: str = ""
    in_outage: bool = False


class RehearsedApplication(msgspec.Struct, frozen=True, rename="camel"):
    """`before` and `after` are replicas by cluster; `fewest` served at worst of `replicas`.

    `longest_seconds` is how long fewer than all served at a time, at most; None where that has not ended. `held` is why
    its eviction is held at the end; `serves` is how many serve then. `by_sum` found too little room by the grades of
    nodes when they were without a place; the sum of what was free had room for them.
    """

    workload: str
    binding: str
    before: dict[str, int]
    after: dict[str, int]
    replicas: int
    fewest: int
    longest_seconds: float | None
    held: str = ""
    serves: int = 0
    by_sum: int = 0


class RehearsalReport(msgspec.Struct, frozen=True, rename="camel"):
    """`outages` are told as `leeward timeline` tells them. `left_out` and `differs` say how the copy is not as what it
    was made of.
    """

    name: str
    control_plane: str
    as_of: datetime
    begins: datetime
    duration_seconds: float
    clusters: int
    verdicts: list[ExpectationResult]
    timeline: list[RehearsedEvent]
    outages: list[OutageStory]
    applications: list[RehearsedApplication]
    left_out: list[str]
    differs: list[str]
    unseen: list[str]

    @property
    def holds(self) -> bool:
        return all(verdict.holds for verdict in self.verdicts)


def rehearse(state: FleetState, scenario: Scenario) -> RehearsalReport:
    """Raises: ScenarioProblem for what asks about something that is not there, RehearsalFailed."""
    steps = plan_steps(state, scenario)
    templates = rebuild_templates(state)
    choose(state, scenario, templates.manifests)
    _check_size(state)
    try:
        return run_virtual(_play(state, scenario, steps), turns=MOST_TURNS)
    except (DeadlockError, EndlessError) as error:
        raise RehearsalFailed(f"the copy does not come to an end: {error}") from error
    except WorldError as error:
        raise RehearsalFailed(f"the copy does not take what the picture holds: {error}") from error


def _check_size(state: FleetState) -> None:
    """Raises: RehearsalFailed."""
    replicas = sum(max(1, target.replicas) for b in state.bindings.values() for target in b.spec.clusters)
    for number, most, what in (
        (len(state.clusters), MOST_CLUSTERS, "clusters"),
        (len(state.bindings), MOST_BINDINGS, "bindings"),
        (replicas, MOST_REPLICAS, "replicas"),
    ):
        if number > most:
            raise RehearsalFailed(
                f"it has {number} {what}, and at most {most} are rehearsed; `leeward what-if` has no such bound"
            )
    if not state.clusters:
        raise RehearsalFailed("no cluster has joined: there is nothing to rehearse")


async def _play(state: FleetState, scenario: Scenario, steps: list[PlannedStep]) -> RehearsalReport:
    world = CopiedWorld(state, several_nodes(steps))
    recorder = FleetRecorder(world)
    async with world:
        chosen = choose(state, scenario, world.templates.manifests)
        recorder.begin()
        begins = world.clock.now()
        before = {key: _targets(recorder, key) for key in world.templates.manifests}
        carrying_out = ScenarioSteps(world)
        for planned in steps:
            await _until(recorder, planned.at_seconds)
            if planned.scaled is not None and planned.scaled not in world.templates.manifests:
                raise ScenarioProblem(f"scale: {world.templates.left_out[planned.scaled]}")
            recorder.tell(Happening.STEP, planned.sentence)
            try:
                await carrying_out.carry_out(planned)
            except WorldError as error:
                raise RehearsalFailed(f"{planned.sentence}: the copy refuses it: {error}") from error
            recorder.look_at_members()
        await _until(recorder, scenario.spec.seconds)
        outages = await told_outages(world)
        return _report(world, scenario, recorder, chosen, begins, before, outages)


async def _until(recorder: FleetRecorder, seconds: float) -> None:
    """Waits until so many seconds of the scenario; replicas without a place meanwhile get a second opinion."""
    while (left := seconds - recorder.seconds) > 0:
        await asyncio.sleep(min(left, LOOK_SECONDS))
        await recorder.ask_by_sum()


def _report(
    world: CopiedWorld,
    scenario: Scenario,
    recorder: FleetRecorder,
    chosen: list[Chosen],
    begins: datetime,
    before: dict[BindingName, dict[str, int]],
    outages: list[OutageStory],
) -> RehearsalReport:
    state = world.state
    return RehearsalReport(
        name=scenario.metadata.name,
        control_plane=state.control_plane,
        as_of=state.as_of,
        begins=begins,
        duration_seconds=scenario.spec.seconds,
        clusters=len(state.clusters),
        verdicts=[judge(each, recorder) for each in chosen],
        timeline=[_event(each, begins, outages) for each in recorder.happened],
        outages=outages,
        applications=[
            _application(recorder, key, before[key])
            for key in before
            if key in recorder.bindings and is_application(recorder.bindings[key])
        ],
        left_out=world.notes.left_out,
        differs=world.notes.differs,
        unseen=list(state.recorded.unseen),
    )


def _event(happened: Happened, begins: datetime, outages: list[OutageStory]) -> RehearsedEvent:
    at = begins + timedelta(seconds=happened.seconds)
    return RehearsedEvent(
        at,
        happened.seconds,
        happened.what,
        happened.sentence,
        happened.cluster,
        str(happened.binding or ""),
        in_outage=any(tells(outage, happened, at) for outage in outages),
    )


def _application(recorder: FleetRecorder, key: BindingName, before: dict[str, int]) -> RehearsedApplication:
    serving = recorder.serving[key]
    spans = [None if ended is None else ended - begun for begun, ended, _, _ in serving.spans_below()]
    return RehearsedApplication(
        workload=workload_of(recorder.bindings[key]),
        binding=str(key),
        before=before,
        after=_targets(recorder, key),
        replicas=serving.last[1],
        fewest=serving.fewest[0],
        longest_seconds=None if None in spans else max((span for span in spans if span is not None), default=0.0),
        held=held_reason(recorder.bindings[key]),
        serves=serving.last[0],
        by_sum=recorder.by_sum.get(key, 0),
    )


def _targets(recorder: FleetRecorder, key: BindingName) -> dict[str, int]:
    binding = recorder.bindings.get(key)
    return binding.spec.assigned if binding is not None else {}


async def told_outages(world: CopiedWorld) -> list[OutageStory]:
    """The Outage objects of a copy up to now, told as `leeward timeline` tells a control plane's: the running ones
    first. Raises: WorldError."""
    recorded = world.state.recorded
    copied = RecordedFleet(
        API_VERSION,
        KIND,
        recorded.control_plane,
        world.clock.now(),
        clusters=tuple((await world.client.list(CLUSTERS)).items),
        outages=tuple((await world.client.list(OUTAGES)).items),
        settings=recorded.settings,
    )
    return timeline(FleetState(copied), OutageFilter()).outages


def tells(outage: OutageStory, happened: Happened, at: datetime) -> bool:
    """Tells whether the story of the outage has the event of that instant, as a line or in a number."""
    ended = outage.status.cleaned_at or outage.status.returned_at
    if at < outage.spec.since or (ended is not None and at > ended + CLEANING):
        return False
    match happened.what:
        case Happening.BRAKE:
            return True
        case Happening.CLUSTER | Happening.DELETED | Happening.MOVED:
            return outage.cluster in happened.cluster.split(",")
        case Happening.HELD:
            binding = str(happened.binding or "")
            return any(f"{e.namespace}/{binding_name(e.kind, e.name)}" == binding for e in outage.status.listed)
        case Happening.STEP | Happening.SERVING | Happening.ROLLOUT:
            return False
