"""Known faults of Karmada (docs/karmada-behaviour.md) and of other systems, as histories with a fixed seed.

The fleet is m1 (Push), m2 (Pull) and m3 (Push), with the brisk timings: a member that stops is noticed after 30 s,
tainted NoExecute after 50 s and left after 60 s.

`8.n` in a name is the known fault n. 8.6 (spread constraints by zone, provider or label) is no matter of faults:
tests/world/test_known_faults.py.
"""

from collections.abc import Mapping

from simulator.histories.model import (
    AnyStep,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Deploy,
    History,
    MemberHangs,
    MemberIsUnready,
    MemberLosesData,
    MemberStops,
    Mode,
    Plan,
    Recreate,
    Rejoin,
    Release,
    Scale,
    Storm,
    TwoLeaders,
    Withdraw,
)

FLEET: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Pull"), ("m3", "Push"))
STATIC = Plan(division="Static", clusters=("m1", "m2"), weights=(1, 1))
DIRECTLY = Plan(division="Static", clusters=("m1", "m2"), weights=(1, 1), directly=True)
EVENLY = Plan(division="Static", clusters=("m1", "m2", "m3"), weights=(1, 1, 1))
ON_M3 = Plan(division="Duplicated", clusters=("m3",))
ONE_OF_TWO = Plan(division="Duplicated", clusters=("m1", "m2"), groups=(1, 1))
WEB = Deploy(at=45, app="web", plan=STATIC, replicas=4)

SCENARIOS: Mapping[str, tuple[AnyStep, ...]] = {
    "8.1 an empty result is not healthy": (
        Deploy(at=45, app="web", plan=ONE_OF_TWO, replicas=2),
        MemberStops(at=80, lasts=150, member="m1"),
        MemberStops(at=80, lasts=150, member="m2"),
    ),
    "8.2 time takes no copy away that nothing replaced": (
        WEB,
        MemberStops(at=80, lasts=190, member="m1"),
        MemberStops(at=145, lasts=60, member="m2"),
    ),
    "8.3 directly, and the cluster cannot be reached": (
        Deploy(at=45, app="web", plan=DIRECTLY, replicas=4),
        MemberHangs(at=80, lasts=120, member="m1"),
    ),
    "8.4 an eviction task does not outlive the outage": (WEB, MemberStops(at=80, lasts=63, member="m1")),
    "8.5 a control plane that is cut off": (WEB, CutOff(at=80, lasts=180)),
    "8.7 scaled up during an outage": (
        WEB,
        MemberStops(at=80, lasts=120, member="m1"),
        Scale(at=100, app="web", replicas=7),
    ),
    "8.9 restarted with a member that cannot be reached": (
        WEB,
        MemberHangs(at=80, lasts=100, member="m1"),
        ControllersAreKilled(at=100, lasts=10),
    ),
    "8.8 equal weights when one of three is lost": (
        Deploy(at=45, app="web", plan=EVENLY, replicas=6),
        Deploy(at=46, app="other", plan=EVENLY, replicas=3),
        MemberStops(at=80, lasts=150, member="m1"),
    ),
    "8.10 a member that hangs while another one is to work": (
        Deploy(at=45, app="web", plan=STATIC, replicas=4),
        MemberHangs(at=80, lasts=60, member="m1"),
        Deploy(at=90, app="other", plan=ON_M3, replicas=2),
        Release(at=100, app="other", version=2),
        Withdraw(at=125, app="other"),
    ),
    "8.11 a health that was reported before the replica was added": (
        WEB,
        MemberStops(at=80, lasts=100, member="m1"),
        Storm(at=80, lasts=100, who="agent-m2", whom="control-plane", lag_seconds=5, jitter_seconds=1),
    ),
    "8.12 the works of a cluster that comes back": (WEB, MemberStops(at=80, lasts=150, member="m1")),
    "8.13 a lease that is renewed by a wrong clock": (
        WEB,
        ClockIsWrong(at=80, lasts=100, who="agent-m2", seconds=-3600),
    ),
    "a status that was computed before a conflict": (
        WEB,
        Storm(at=80, lasts=90, who="controllers", whom="control-plane", rate=0.3, mishaps=("conflict", "unanswered")),
        Release(at=90, app="web", version=2),
        Scale(at=100, app="web", replicas=6),
    ),
    "deleted while the controllers were down": (
        WEB,
        ControllersAreKilled(at=80, lasts=40),
        Withdraw(at=90, app="web"),
    ),
    "deleted and made again under the same name": (
        WEB,
        ControllersAreKilled(at=80, lasts=30, steps=40),
        Recreate(at=85, app="web", replicas=3),
    ),
    "a cluster that joins again with other contents": (
        WEB,
        MemberLosesData(at=80, lasts=40, member="m1"),
        Rejoin(at=90, cluster="m1"),
    ),
    "two leaders for a moment": (
        WEB,
        MemberIsUnready(at=80, lasts=90, member="m1"),
        TwoLeaders(at=135, lasts=15),
    ),
}


def history(name: str) -> History:
    return History(seed=9, members=FLEET, steps=SCENARIOS[name])
