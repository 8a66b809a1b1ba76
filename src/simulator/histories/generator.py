"""Draws a history from a seed: a fleet, applications, what users do with them, and what fails meanwhile.

How long a fault lasts is drawn around the moments at which something happens because of it: noticed, tainted, evicted,
past its grace. That is where the rare situations are. Two histories in three have an outage scenario, too, and one in
four has a burst of edits (`outage_scenarios.py`). Every other history is led to a rare situation instead (`steered`).
"""

import random
from collections.abc import Sequence

import msgspec

from simulator.histories.companions import with_companions
from simulator.histories.model import (
    AgentIsKilled,
    AnyFault,
    AnyStep,
    AnyUserStep,
    ApiServerIsKilled,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Deploy,
    Division,
    Drain,
    History,
    HubIsSuspended,
    Maintain,
    Meddle,
    MemberComesBackOld,
    MemberFlaps,
    MemberHangs,
    MemberIsKilled,
    MemberIsSlow,
    MemberIsUnready,
    MemberLies,
    MemberLosesData,
    MemberRefusesWrites,
    MemberShrinks,
    MemberStops,
    Mode,
    NodesAreCordoned,
    Pace,
    Partition,
    Plan,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Rejoin,
    Relabel,
    Release,
    Replan,
    RestartPod,
    Scale,
    Squat,
    Suspend,
    TaintOnOutage,
    TwoLeaders,
    Withdraw,
)
from simulator.histories.outage_scenarios import OutageScenarios, moments
from simulator.histories.parts import (
    bearable,
    paused_leader,
    sharing,
    storm,
    with_autoscaler,
    with_databases,
    with_git_tool,
    with_restore,
    with_shards,
    with_tasks,
)
from simulator.histories.policy_companions import with_groups, with_policies, with_rollouts
from simulator.histories.steered import steer
from simulator.histories.timings import TIMINGS

FIRST_DEPLOY, LAST_DEPLOY = 40.0, 70.0
FIRST_FAULT, LAST_FAULT = 60.0, 240.0
KILL_STEPS = 400
SCENARIO_SHARE = 0.65
BURST_SHARE = 0.25
RATE_SHARE = 0.1
TAINT_POLICY_SHARE = 0.08
TERMS_SHARE, OVERLAP_SHARE, FAILBACK_SHARE, APPLICATION_SHARE = 0.12, 0.5, 0.1, 0.08
LARGE_CPU = 7
LARGE_REPLICAS_OF_A_MEMBER = 2


def draw_history(seed: int) -> History:
    """The history of a seed."""
    generator = HistoryGenerator(seed)
    drawn = steer(seed, generator.disturb)
    if drawn is None:
        drawn = with_restore(with_policies(with_companions(generator.history())))
        drawn = with_rollouts(with_shards(with_git_tool(with_autoscaler(with_databases(with_tasks(drawn))))))
        drawn = with_groups(drawn)
    return bearable(drawn)


class HistoryGenerator:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._draw = random.Random(f"history {seed}")
        self._pace: Pace = "karmada" if self._draw.random() < 0.05 else "brisk"
        count = self._draw.choice((2, 3, 3, 3, 4, 4, 5))
        modes: Sequence[Mode] = ("Push", "Push", "Pull")
        self._members: dict[str, Mode] = {f"m{number}": self._draw.choice(modes) for number in range(1, count + 1)}
        self._apps = [f"app{number}" for number in range(1, self._draw.choice((1, 1, 2, 2, 3)) + 1)]
        self._crises: list[float] = []
        self._configs = {app for app in self._apps if self._draw.random() < 0.15}
        self._large: set[str] = set()

    def history(self) -> History:
        faults = [self._fault() for _ in range(self._draw.choice((1, 2, 2, 3, 3, 4, 5, 6)))]
        self._crises = [self._crisis(fault) for fault in faults]
        faults += [self._fault() for _ in range(self._draw.choice((0, 0, 1, 2)))]
        deploys = [self._deploy(app) for app in self._apps]
        steps: list[AnyStep] = [*deploys, *sharing(self._draw, self._members), *self._wishes(), *faults]
        if self._draw.random() < TAINT_POLICY_SHARE:
            steps.append(TaintOnOutage(at=FIRST_DEPLOY))
        if self._draw.random() < SCENARIO_SHARE:
            steps += self._outage(self._draw.choice(deploys))
        sync_seconds, revisions = self._draw.choice((0.0, 0.002, 0.02)), self._draw.choice((0, 0, 0, 20))
        if self._draw.random() < BURST_SHARE:
            steps += self._burst_of_edits(self._draw.choice(deploys))
        return History(
            seed=self._seed,
            members=tuple(self._members.items()),
            steps=tuple(sorted(steps, key=lambda step: step.at)),
            pace=self._pace,
            sync_seconds=sync_seconds,
            revisions=revisions,
            evictions_per_second=self._rate(steps),
        )

    def disturb(self, history: History) -> History:
        """One fault and one wish more, for the same fleet and applications."""
        self._members = dict(history.members)
        self._apps = [step.app for step in history.steps if isinstance(step, Deploy)] or self._apps
        self._configs.clear()
        fault = self._fault()
        self._large = {step.app for step in history.steps if isinstance(step, Deploy) and step.cpu == LARGE_CPU}
        self._crises = [self._crisis(fault)]
        steps = sorted((*history.steps, fault, self._wish()), key=lambda step: step.at)
        return msgspec.structs.replace(history, steps=tuple(steps))

    def _rate(self, steps: Sequence[AnyStep]) -> float:
        """Rate of evictions, seldom limited; two sets of controllers that know nothing of each other cannot keep one
        rate."""
        rate = self._draw.choice((0.05, 0.2, 1.0)) if self._draw.random() < RATE_SHARE else 0.0
        return 0.0 if any(isinstance(step, TwoLeaders) for step in steps) else rate

    def _outage(self, deploy: Deploy) -> Sequence[AnyStep]:
        scenarios = OutageScenarios(self._draw, TIMINGS[self._pace], self._members)
        return scenarios.outage(deploy, lambda at: self._changes(at, deploy.app))

    def _burst_of_edits(self, deploy: Deploy) -> Sequence[AnyStep]:
        """Wishes that change how many there are, or where."""
        scenarios = OutageScenarios(self._draw, TIMINGS[self._pace], self._members)
        return scenarios.burst_of_edits(lambda at: self._changes(at, deploy.app)[:4])

    def _deploy(self, app: str) -> Deploy:
        """Large replicas only where the capacity of members counts: there may be room for a part of them.

        One less than there is room for, and each member that is lost leaves some of them no place to go.
        """
        plan = self._plan()
        heeds_room = plan.division in ("Dynamic", "Aggregated") and app not in self._configs
        cpu = self._draw.choice((1, LARGE_CPU)) if heeds_room else 1
        most = LARGE_REPLICAS_OF_A_MEMBER * len(plan.clusters) - 1
        if cpu == LARGE_CPU:
            self._large.add(app)
        return Deploy(
            at=self._at(FIRST_DEPLOY, LAST_DEPLOY),
            app=app,
            plan=plan,
            replicas=self._draw.choice((1, 2, 3, 4, 6) if cpu == 1 else (2, most, most)),
            config=app in self._configs,
            cpu=cpu,
        )

    def _wishes(self) -> list[AnyUserStep]:
        return [self._wish() for _ in range(self._draw.choice((0, 0, 1, 2, 3, 4)))]

    def _crisis(self, fault: AnyFault) -> float:
        """Instant at which something is likely to be evicted because of it: what else happens then is what matters."""
        return round(fault.at + moments(TIMINGS[self._pace])[3] + self._draw.uniform(-12, 20), 3)

    def _wish(self) -> AnyUserStep:
        at, app, member = self._at(FIRST_FAULT + 15, LAST_FAULT + 60), self._app(), self._member()
        if self._draw.random() < 0.6:
            at = self._draw.choice(self._crises)
        wishes: list[AnyUserStep] = [
            *self._changes(at, app),
            Maintain(at=at, cluster=member, lasts=self._lasts()),
            Drain(at=at, cluster=member, lasts=self._lasts(), budget=self._draw.choice((0, 1, 2))),
            Suspend(at=at, app=app, what=self._draw.choice(("scheduling", "dispatching")), lasts=self._lasts()),
            RestartPod(at=at, app=app, cluster=member),
            Rejoin(at=at, cluster=member),
            Meddle(at=at, app=app, cluster=member, delete=self._draw.random() < 0.5),
            Squat(at=self._at(FIRST_DEPLOY - 5, LAST_FAULT), app=app, cluster=member, config=app in self._configs),
        ]
        return self._draw.choice(wishes)

    def _changes(self, at: float, app: str) -> Sequence[AnyUserStep]:
        """Changes that may be wanted of an application."""
        return (
            Scale(at=at, app=app, replicas=self._draw.randrange(0, 8)),
            Scale(at=at, app=app, replicas=self._draw.randrange(1, 8)),
            Release(at=at, app=app, version=self._draw.randrange(2, 9)),
            Replan(at=at, app=app, plan=self._plan(heeds_room=app in self._large)),
            Withdraw(at=at, app=app),
            Recreate(at=at, app=app, replicas=self._draw.randrange(1, 6)),
            RecreatePolicy(at=at, app=app),
            Rebalance(at=at, app=app),
            Relabel(at=at, app=app, value=self._draw.randrange(1, 9)),
        )

    def _plan(self, *, heeds_room: bool = False) -> Plan:
        """`heeds_room`: replicas go only where there is room, so that they run in the end."""
        names = sorted(self._members)
        size = self._draw.randint(min(2, len(names)), len(names))
        clusters = tuple(sorted(self._draw.sample(names, size)))
        divisions: Sequence[Division] = ("Duplicated", "Static", "Static", "Dynamic", "Aggregated")
        division = self._draw.choice(divisions[-2:] if heeds_room else divisions)
        least = self._draw.randint(1, size)
        plan = Plan(
            division=division,
            clusters=clusters,
            weights=tuple(self._draw.randint(1, 3) for _ in clusters) if division == "Static" else (),
            groups=(least, self._draw.randint(least, size)) if self._draw.random() < 0.3 else (0, 0),
            directly=self._draw.random() < 0.12,
            toleration_seconds=self._draw.choice((0, 0, 0, 1, 40)),
            terms=2 if division != "Static" and size > 1 and self._draw.random() < TERMS_SHARE else 1,
            failback=self._draw.random() < FAILBACK_SHARE,
            application_seconds=20 if self._draw.random() < APPLICATION_SHARE else 0,
        )
        overlap = plan.terms > 1 and size > 2 and self._draw.random() < OVERLAP_SHARE
        return msgspec.structs.replace(plan, overlap=overlap)

    def _fault(self) -> AnyFault:
        pick = self._draw.random()
        if pick < 0.45:
            return self._member_fails()
        if pick < 0.65:
            return self._someone_is_killed()
        return self._network_fails()

    def _member_fails(self) -> AnyFault:
        at, lasts, member = self._fault_at(), self._lasts(), self._member()
        faults: list[AnyFault] = [
            MemberStops(at=at, lasts=lasts, member=member),
            MemberStops(at=at, lasts=lasts, member=member),
            MemberHangs(at=at, lasts=lasts, member=member),
            MemberIsSlow(at=at, lasts=lasts, member=member, seconds=self._draw.choice((0.5, 3.0, 6.0))),
            MemberIsUnready(at=at, lasts=lasts, member=member),
            MemberLosesData(at=at, lasts=lasts, member=member),
            MemberComesBackOld(at=at, lasts=lasts, member=member),
            NodesAreCordoned(at=at, lasts=lasts, member=member),
            MemberRefusesWrites(at=at, lasts=lasts, member=member, code=self._draw.choice((403, 500))),
            MemberShrinks(at=at, lasts=lasts, member=member, nodes=self._draw.choice((0, 1))),
            MemberLies(at=at, lasts=min(lasts, 60.0), member=member),
            MemberFlaps(at=at, lasts=lasts, member=member, period=self._draw.choice((8.0, 25.0, 45.0))),
        ]
        return self._draw.choice(faults)

    def _someone_is_killed(self) -> AnyFault:
        at, steps, member = self._fault_at(), self._draw.randrange(KILL_STEPS), self._member()
        lasts = self._draw.choice((1.0, 5.0, 30.0, self._lasts()))
        power_cut = self._draw.random() < 0.5
        faults: list[AnyFault] = [
            ControllersAreKilled(at=at, lasts=lasts, steps=steps),
            ControllersAreKilled(at=at, lasts=lasts, steps=steps),
            HubIsSuspended(at=at, lasts=lasts),
            ApiServerIsKilled(at=at, lasts=lasts, steps=steps, power_cut=power_cut),
            MemberIsKilled(at=at, lasts=lasts, member=member, steps=steps),
            AgentIsKilled(at=at, lasts=lasts, member=self._pull_member(), steps=steps),
            TwoLeaders(at=at, lasts=self._draw.choice((2.0, 15.0, 60.0))),
            paused_leader(self._draw, at),
        ]
        return self._draw.choice(faults)

    def _network_fails(self) -> AnyFault:
        at, lasts = self._fault_at(), self._lasts()
        who, whom = self._way()
        pick = self._draw.random()
        if pick < 0.2:
            return CutOff(at=at, lasts=lasts)
        if pick < 0.4:
            return Partition(at=at, lasts=lasts, who=who, whom=whom)
        if pick < 0.5:
            skew = self._draw.choice((-3600.0, -45.0, 45.0, 3600.0))
            return ClockIsWrong(at=at, lasts=lasts, who=self._agent(), seconds=skew)
        return storm(self._draw, at, lasts, who, whom)

    def _way(self) -> tuple[str, str]:
        """Way of a request: who asks whom."""
        member = self._member()
        if self._members[member] == "Push":
            return "controllers", self._draw.choice((member, "control-plane"))
        return self._draw.choice(
            ((f"agent-{member}", member), (f"agent-{member}", "control-plane"), ("controllers", "control-plane"))
        )

    def _agent(self) -> str:
        return self._draw.choice(("controllers", f"agent-{self._pull_member()}"))

    def _lasts(self) -> float:
        """Duration around one of the moments at which something happens because of a fault."""
        moment = self._draw.choice(moments(TIMINGS[self._pace]))
        return round(max(1.0, moment + self._draw.uniform(-8, 8)), 3)

    def _fault_at(self) -> float:
        if self._crises and self._draw.random() < 0.7:
            return self._draw.choice(self._crises)
        return self._at(FIRST_FAULT, LAST_FAULT)

    def _at(self, first: float, last: float) -> float:
        return round(self._draw.uniform(first, last), 3)

    def _member(self) -> str:
        return self._draw.choice(sorted(self._members))

    def _pull_member(self) -> str:
        pulling = [name for name, mode in sorted(self._members.items()) if mode == "Pull"]
        return self._draw.choice(pulling or sorted(self._members))

    def _app(self) -> str:
        return self._draw.choice(self._apps)
