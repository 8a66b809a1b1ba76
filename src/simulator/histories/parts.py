"""Parts of histories that are drawn by themselves: a storm, a leader that is paused, a control plane that is restored,
Clusters that are kept in git, Jobs, autoscalers in members, custom resources, and what is shared."""

import random
from collections.abc import Mapping, Sequence

import msgspec

from kubecluster.network_faults import MISHAPS
from simulator.histories.model import (
    AnyStep,
    AnyUserStep,
    Autoscale,
    Deploy,
    GitWrite,
    History,
    HubIsRestored,
    LeaderIsPaused,
    MemberLosesData,
    Mode,
    Own,
    Rejoin,
    ShardIsPaused,
    Share,
    Shared,
    Storm,
    SyncClusters,
)

SHARING_SHARE = 0.15
RESTORE_SHARE = 0.1
SHARDED_SHARE = 0.5
GIT_SHARE = 0.12
GIT_WRITES: Sequence[GitWrite] = ("patch", "put", "apply")
GIT_PERIODS = (5.0, 30.0, 120.0, 290.0, 0.0)
"""Seconds between two syncs of a git tool; 0 is a single one."""
GIT_AT = (30.0, 260.0)
TASKS_SHARE, AUTOSCALED_SHARE, DATABASES_SHARE = 0.1, 0.1, 0.1
AUTOSCALED_AT, AUTOSCALED = (80.0, 260.0), (8, 10)
"""Instants, and replicas: more than users ever want of an application."""
FIRST_SHARDS_SECONDS = 10.0
"""Shards begin so much later than a leader: they want to have seen it renew its lease."""
BACKUP_AT = (60.0, 220.0)
MOST_SECONDS_AFTER = 60.0
"""Seconds until the controllers of a control plane that is restored begin: election alone takes a quarter of that."""
SHARED_AT, OWNED_AT = (40.0, 70.0), 78.0


def storm(draw: random.Random, at: float, lasts: float, who: str, whom: str) -> Storm:
    some = draw.random() < 0.7
    return Storm(
        at=at,
        lasts=lasts,
        who=who,
        whom=whom,
        rate=draw.choice((0.05, 0.3, 0.7)) if some else 0.0,
        mishaps=tuple(draw.sample(MISHAPS, draw.randint(1, 6))) if some else (),
        lag_seconds=draw.choice((0.0, 0.0, 0.5, 5.0)),
        repeats=draw.choice((0.0, 0.0, 0.3)),
        breaks=draw.choice((0.0, 0.0, 0.1)),
        jitter_seconds=draw.choice((0.0, 0.05, 1.0)),
    )


def paused_leader(draw: random.Random, at: float) -> LeaderIsPaused:
    """Pause of a leader that is stopped around that time; replicas need some seconds to begin, and to take over."""
    after, pause = round(draw.uniform(6, 16), 3), draw.choice((5.0, 20.0, 45.0))
    return LeaderIsPaused(at=round(at - 10, 3), lasts=after + pause + 20, after=after, pause_seconds=pause)


def with_shards(history: History) -> History:
    """Gives the leader that is paused shards, in some histories; it may be one of them that is paused. What is drawn
    for it is no part of the other draws."""
    draw = random.Random(f"shards {history.seed}")
    steps = tuple(
        _in_shards(draw, step) if isinstance(step, LeaderIsPaused) and draw.random() < SHARDED_SHARE else step
        for step in history.steps
    )
    return msgspec.structs.replace(history, steps=steps)


def _in_shards(draw: random.Random, paused: LeaderIsPaused) -> ShardIsPaused:
    return ShardIsPaused(
        at=paused.at,
        lasts=paused.lasts + FIRST_SHARDS_SECONDS,
        who=draw.choice(("leader", "shard 0", "shard 1")),
        after=paused.after + FIRST_SHARDS_SECONDS,
        pause_seconds=paused.pause_seconds,
        undivided=draw.random() < 0.3,
    )


def with_restore(history: History) -> History:
    """Adds a control plane that is restored to some histories. What is drawn for it is no part of the other draws."""
    draw = random.Random(f"restore {history.seed}")
    if draw.random() >= RESTORE_SHARE:
        return history
    restore = HubIsRestored(
        at=round(draw.uniform(*BACKUP_AT), 3),
        lasts=round(draw.uniform(60, 200), 3),
        down_seconds=draw.choice((20.0, 45.0)),
        controllers_stay=draw.random() < 0.3,
        controllers_after=round(draw.uniform(0, MOST_SECONDS_AFTER), 3),
    )
    return _with(history, restore)


def with_git_tool(history: History) -> History:
    """Has a git tool write the Clusters of some histories. What is drawn for it is no part of the other draws."""
    draw = random.Random(f"git {history.seed}")
    if draw.random() >= GIT_SHARE:
        return history
    sync = SyncClusters(
        at=round(draw.uniform(*GIT_AT), 3),
        clusters=tuple(sorted(name for name, _ in history.members)),
        how=draw.choice(GIT_WRITES),
        every=draw.choice(GIT_PERIODS),
        lasts=round(draw.uniform(30, 300), 3),
        own=draw.random() < 0.5,
    )
    return _with(history, sync)


def with_tasks(history: History) -> History:
    """Adds a Job or a CronJob to some histories, placed like one of the applications. What is drawn for it is no part
    of the other draws."""
    draw = random.Random(f"tasks {history.seed}")
    plans = [step.plan for step in history.steps if isinstance(step, Deploy)]
    if not plans or draw.random() >= TASKS_SHARE:
        return history
    task = Deploy(
        at=round(draw.uniform(*SHARED_AT), 3),
        app="task",
        plan=msgspec.structs.replace(draw.choice(plans), follows=False, lazy=False),
        job=draw.choice(("Job", "Job", "CronJob")),
        seconds=draw.choice((5, 40, 120)),
    )
    return _with(history, task)


def with_databases(history: History) -> History:
    """Adds a custom resource that no rule judges to some histories, placed like one of the applications. What is drawn
    for it is no part of the other draws. A member that comes back empty keeps nothing for anybody."""
    draw = random.Random(f"databases {history.seed}")
    plans = [step.plan for step in history.steps if isinstance(step, Deploy)]
    is_emptied = any(isinstance(step, MemberLosesData) for step in history.steps)
    if not plans or is_emptied or draw.random() >= DATABASES_SHARE:
        return history
    database = Deploy(
        at=round(draw.uniform(*SHARED_AT), 3),
        app="database",
        plan=msgspec.structs.replace(draw.choice(plans), follows=False, lazy=False),
        operated=draw.choice(("plain", "claiming")),
    )
    return _with(history, database)


def with_autoscaler(history: History) -> History:
    """Lets somebody in members scale the copies of one application up, in some histories in which there is room for
    that. What is drawn for it is no part of the other draws."""
    draw = random.Random(f"autoscaler {history.seed}")
    deploys = [step for step in history.steps if isinstance(step, Deploy)]
    apps = [step for step in deploys if not (step.config or step.scripted or step.job or step.operated)]
    if not apps or any(step.cpu > 1 for step in deploys) or draw.random() >= AUTOSCALED_SHARE:
        return history
    app, fleet = draw.choice(apps), sorted(name for name, _ in history.members)
    scaled = [
        Autoscale(
            at=round(draw.uniform(*AUTOSCALED_AT), 3),
            app=app.app,
            cluster=draw.choice(fleet),
            replicas=draw.randint(*AUTOSCALED),
        )
        for _ in range(draw.randint(1, 4))
    ]
    steps = (msgspec.structs.replace(step, autoscaled=True) if step is app else step for step in history.steps)
    return _with(msgspec.structs.replace(history, steps=tuple(steps)), *scaled)


def _with(history: History, *more: AnyStep) -> History:
    steps = sorted((*history.steps, *more), key=lambda step: step.at)
    return msgspec.structs.replace(history, steps=tuple(steps))


def bearable(history: History) -> History:
    """Removes steps by which a cluster leaves and joins again where a control plane is restored: who had it join does
    not know that it is to join once more."""
    if not any(isinstance(step, HubIsRestored) for step in history.steps):
        return history
    steps = tuple(step for step in history.steps if not isinstance(step, Rejoin))
    return msgspec.structs.replace(history, steps=steps)


def sharing(draw: random.Random, members: Mapping[str, Mode]) -> list[AnyUserStep]:
    """Something that others live in or rely on, with what they keep in it."""
    if draw.random() >= SHARING_SHARE:
        return []
    names = sorted(members)
    what: Shared = draw.choice(("Namespace", "CustomResourceDefinition", "Service", "PersistentVolumeClaim"))
    clusters = tuple(sorted(draw.sample(names, draw.randint(1, len(names)))))
    share = Share(at=round(draw.uniform(*SHARED_AT), 3), app="shared", what=what, clusters=clusters)
    return [share, *(Own(at=OWNED_AT, app="shared", cluster=name) for name in clusters)]
