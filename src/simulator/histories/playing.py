"""Plays a history in a world and checks it: safety while things fail, then healing, then convergence and silence.

    start ▸ steps, each at its time ─▸ heal ─▸ settled within a bound? (L1, L3) ─▸ silent? (L5)
            └──── every write and every request is checked (S, C, D) ────────────────────┘

A run ends at the first violation. It is a function of its history: the same one gives the same trace hash.
"""

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeapi.loop import DeadlockError, EndlessError, Supervisor, run_virtual
from kubeclient import Request
from kubecluster.journal import Write
from kubeserver.handler import User
from leeward.sim.world import CONTROLLERS, World
from simulator.histories import rare_restores
from simulator.histories.checkers import (
    CompactionChecker,
    LeadersChecker,
    RequestsChecker,
    ServerAudit,
    Violation,
    scene_of,
)
from simulator.histories.convergence import forgotten_works, forsakes, unsettled
from simulator.histories.decision_replay import DecisionReplay
from simulator.histories.faults import Faults
from simulator.histories.ground_truth import Change, GroundTruth
from simulator.histories.handling import unhandled
from simulator.histories.history_settings import settings_of
from simulator.histories.judging import Judging
from simulator.histories.log_capture import captured_logs
from simulator.histories.model import LASTING, Deploy, Fault, History, HubIsRestored, UserStep
from simulator.histories.operators import Operators
from simulator.histories.orphans import clear_orphans
from simulator.histories.places import Place, places, wanted
from simulator.histories.rare import RareSituations
from simulator.histories.timings import TIMINGS, bound_seconds
from simulator.histories.users import Users
from simulator.stale_reads import StaleReads

START_SECONDS = 60.0
SILENCE_SECONDS = 25.0
SILENT_LOOKS = 2
ECHO_SECONDS = 120.0
SYNC_SECONDS = 0.001
"""No write is for nothing, so that two parties who undo each other's work do not stop the clock."""
LOOK_SECONDS = 5.0
WATCH_SECONDS = 1.0
HANDLED = 5
MARGIN_SECONDS = 1.0
USERS_SECONDS = 420.0
MOST_TURNS = 400_000
"""Most turns of the loop; the longest histories need a tenth of it."""
HEARTBEATS = ("/coordination.k8s.io/leases/",)
WATCHING = frozenset({CONTROLLERS, "other controllers", "replica 1", "replica 2"})
"""The lives of those who watch clusters."""
EVENTS = "//events/"
"""Prefix of Events. That something has happened again is counted up minutes later: it is no work that goes on."""


@dataclass(slots=True)
class Run:
    """Outcome of a history. `seconds` are virtual; `decisions` are those that were taken again (`DecisionReplay`)."""

    history: History
    violations: list[Violation] = field(default_factory=list[Violation])
    reached: Counter[str] = field(default_factory=Counter[str])
    trace_hash: str = ""
    writes: int = 0
    decisions: int = 0
    seconds: float = 0.0
    outcome: dict[str, object] = field(default_factory=dict[str, object])
    """State that users ended up with, to be compared with a run without faults."""
    places: dict[str, Place] = field(default_factory=dict[str, Place])


def play(history: History) -> Run:
    """Plays it from its beginning to its end, or until it is clear that it has none.

    The cyclic garbage collector rests meanwhile: it knows no seed.
    """
    player = Player(history)
    collecting = gc.isenabled()
    gc.disable()
    try:
        with captured_logs(player.complain):
            return run_virtual(player.play(), random.Random(f"ties {history.seed}"), MOST_TURNS)
    except (DeadlockError, EndlessError) as error:
        return player.broken_off(error)
    finally:
        if collecting:
            gc.collect()
            gc.enable()


class Player:
    """Lets things happen in a world, at their times, and asks the checkers about all that follows."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._run = Run(history)
        self._replay = DecisionReplay(self.complain)
        settings = settings_of(history, self._replay.look)
        self._world = World(dict(history.members), TIMINGS[history.pace], history.seed, manager=settings)
        self._world.medium.sync_seconds = max(history.sync_seconds, SYNC_SECONDS)
        for member in self._world.members.values():
            member.medium.sync_seconds = SYNC_SECONDS
        self._world.history_revisions = history.revisions or self._world.history_revisions
        self._world.journal.on_replaced(lambda place: self._judging.leaves(place))
        self._truth = GroundTruth(self._world.journal)
        self._past = StaleReads(self._world.journal)
        self._rare = RareSituations(self._run.reached, self._truth)
        self._scene = scene_of(history, TIMINGS[history.pace], self._truth)
        self._judging = Judging(self._scene)
        self._compaction = CompactionChecker(self._scene, self._world.journal, self._world.history_revisions)
        self._requests = RequestsChecker(self._scene)
        self._leaders = LeadersChecker(self._scene, self._world.journal)
        self._operators = Operators(self._world, self._truth)
        self._stopped = asyncio.Event()
        self._noise: list[Write] = []
        self._forsaken: set[str] = set()

    async def play(self) -> Run:
        journal = self._world.journal
        self._truth.on_change(self._check)
        journal.on_write(self._listen)
        journal.on_forgotten(self._forgotten)
        journal.on_restored(self._restored)
        self._witness()
        asyncio.get_running_loop().set_exception_handler(lambda _, __: None)
        async with self._world:
            try:
                await self._play_all()
            except TimeoutError as error:
                self._found([Violation("L1", journal.now(), f"the world does not begin: {error}")])
        self._run.trace_hash, self._run.writes = journal.trace_hash, journal.count
        self._run.decisions = self._replay.count
        return self._run

    def broken_off(self, error: Exception) -> Run:
        """Run of a history that came to no end, as far as it can be told."""
        journal = self._world.journal
        self._run.violations.append(Violation("BUG", self._run.seconds, f"the history has no end: {error}"))
        self._run.trace_hash, self._run.writes = journal.trace_hash, journal.count
        return self._run

    def complain(self, bug: str) -> None:
        """The product itself says that something went wrong that must not."""
        self._found([Violation("BUG", self._world.seconds, bug)])

    async def _play_all(self) -> None:
        world, history = self._world, self._history
        await world.until(lambda: all(world.is_ready(name) for name, _ in history.members), START_SECONDS)
        async with Supervisor("history", self._failed) as supervisor:
            faults = Faults(world, history.seed, self._rare, self._past, self._begins)
            users = Users(world, tuple(s for s in history.steps if isinstance(s, UserStep)))
            self._scene.touched, self._scene.autoscaled = users.touched, users.autoscaled
            self._operators.begin(supervisor)
            supervisor.start(self._keep_watch(), "watch")
            wishes = supervisor.start(self._users(users, supervisor), "users")
            for step in history.steps:
                if isinstance(step, Fault):
                    supervisor.start(self._strike(step, faults), f"{step}")
            await self._unless_stopped(self._until(history.ends_at + MARGIN_SECONDS))
            await faults.heal()
            await self._unless_stopped(asyncio.wait([wishes], timeout=USERS_SECONDS))
            if any(isinstance(step, HubIsRestored) for step in history.steps):
                await self._unless_stopped(users.let_all_go())
            orphans = {member for member, _ in self._scene.orphaned}
            await self._unless_stopped(users.let_all_rest({*self._forsaken, *orphans}))
            await self._unless_stopped(self._converge())
            self._run.seconds = world.seconds
            self._run.outcome, self._run.places = wanted(self._truth), places(self._truth)

    async def _users(self, users: Users, supervisor: Supervisor) -> None:
        """One thing after the other; what takes its time goes on beside the rest."""
        patient: list[asyncio.Task[None]] = []
        for step in self._history.steps:
            if not isinstance(step, UserStep):
                continue
            await self._until(step.at)
            self._rare.step(step)
            if isinstance(step, LASTING):
                patient.append(supervisor.start(users.do(step), f"{step}"))
            else:
                await users.do(step)
        if patient:
            await asyncio.wait(patient)

    async def _keep_watch(self) -> None:
        while True:
            self._note_watch(self._world.seconds)
            await asyncio.sleep(WATCH_SECONDS)

    def _note_watch(self, seconds: float) -> None:
        watching = [life for life in self._world.lives if life.name in WATCHING]
        is_watched = any(not life.ended and not life.paused for life in watching)
        is_stalled = not is_watched and any(life.paused for life in watching)
        self._scene.watch.note(seconds, watched=is_watched, stalled=is_stalled)

    async def _strike(self, step: Fault, faults: Faults) -> None:
        await self._until(step.at)
        self._rare.step(step)
        await faults.strike(step)  # type: ignore[arg-type]

    async def _until(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds - self._world.seconds))

    async def _unless_stopped(self, work: Coroutine[Any, Any, object]) -> None:
        """Does the work, or breaks it off at the first violation."""
        doing = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self._stopped.wait())
        await asyncio.wait([doing, stopped], return_when=asyncio.FIRST_COMPLETED)
        for task in (doing, stopped):
            task.cancel()
        await asyncio.wait([doing, stopped])
        if not doing.cancelled():
            doing.result()

    async def _converge(self) -> None:
        if problems := await self._settle():
            self._found([Violation("L1", self._world.seconds, "; ".join(problems[:4]))])
            return
        await self._fall_silent()
        await self._handle()
        if self._scene.orphaned or forgotten_works(self._truth):
            wrong = await clear_orphans(self._world, self._scene)
            self._found(Violation("L3", self._world.seconds, problem) for problem in wrong)
            self._rare.told(rare_restores.CLEARED)
            await self._settle()
        problems = unsettled(self._scene, dict(self._history.members), self._forsaken)
        if problems:
            self._found([Violation("L1", self._world.seconds, "settled, but not for long: " + "; ".join(problems[:4]))])

    async def _settle(self) -> Sequence[str]:
        """Waits until the world is as it is wanted, within a bound, and tells how it is not."""
        members = dict(self._history.members)
        ends_at = self._world.seconds + bound_seconds(self._world.timing)
        problems = unsettled(self._scene, members, self._forsaken)
        while problems and self._world.seconds < ends_at:
            await asyncio.sleep(LOOK_SECONDS)
            problems = unsettled(self._scene, members, self._forsaken)
        return problems

    async def _handle(self) -> None:
        """One history in so many tries what can be done with its objects: it changes nothing."""
        store = self._world.store
        if store is not None and self._history.seed % HANDLED == 0:
            problems = await unhandled(self._world.place, list(store.list("/").records), self._history.seed)
            self._found(Violation("D10", self._world.seconds, problem) for problem in problems)

    async def _fall_silent(self) -> None:
        """Reports what follows the last change is written for a while; then nothing is, twice in a row. A Job that has
        begun runs to its end."""
        tasks = (step.seconds for step in self._history.steps if isinstance(step, Deploy) and step.job)
        ends_at = self._world.seconds + ECHO_SECONDS + max(tasks, default=0)
        quiet = 0
        while quiet < SILENT_LOOKS:
            self._noise.clear()
            await asyncio.sleep(SILENCE_SECONDS)
            quiet = quiet + 1 if not self._noise else 0
            if self._noise and self._world.seconds > ends_at:
                said = Counter(f"{write.place}{write.record.key}" for write in self._noise)
                heard = ", ".join(f"{key} ({n} times)" for key, n in said.most_common(4))
                self._found([Violation("L5", self._world.seconds, f"written in a quiet world: {heard}")])
                return

    def _check(self, change: Change) -> None:
        self._rare.look(change)
        self._rare.told(*rare_restores.of_change(self._scene, change))
        self._note_watch(change.seconds)
        self._operators.look(change)
        if (member := forsakes(self._truth, change)) is not None:
            self._forsaken.add(member)
        self._found(self._judging.look(change))

    def _restored(self, _: str, taken_at: float) -> None:
        self._found(self._judging.restored(taken_at))
        self._rare.told(*rare_restores.of_scene(self._scene))

    def _forgotten(self, place: str, revisions: Sequence[int], compacted: int) -> None:
        self._found(self._compaction.forgets(place, revisions, compacted))

    def _listen(self, write: Write) -> None:
        self._run.seconds = write.seconds
        self._found(self._judging.overdue(write.seconds))
        record = write.record
        counts_up = record.key.startswith(EVENTS) and record.previous is not None
        if not record.key.startswith(HEARTBEATS) and not counts_up:
            self._noise.append(write)

    def _witness(self) -> None:
        places = {"control-plane": self._world.place}
        places |= {name: member.place for name, member in self._world.members.items()}
        for name, place in places.items():

            def witness(request: Request, user: User, name: str = name) -> None:
                self._found(self._requests.look(name, request, user))
                self._notice(name, request)

            place.witness = witness

        audit = ServerAudit(self._scene, self._world.journal, self._found)
        self._world.place.audit = audit.of

    def _begins(self, replica: str, request: Request) -> None:
        self._found(self._leaders.begins(replica, request))

    def _notice(self, place: str, request: Request) -> None:
        """Rare situations that only the network knows of."""
        store, version = self._world.store, request.query.get("resourceVersion", "")
        is_watch = place == self._world.NAME and "watch" in request.query and version.isdigit()
        if is_watch and store is not None and int(version) < store.compacted:
            self._rare.told("a watch resumes behind a compaction")

    def _found(self, violations: Iterable[Violation]) -> None:
        for violation in violations:
            self._run.violations.append(violation)
            self._stopped.set()

    def _failed(self, error: BaseException) -> None:
        self._found([Violation("BUG", self._world.seconds, f"the history itself failed: {error!r}")])
