"""Five outages of real processes: what `what-if` and `resilience` tell of a snapshot is what happens. So is what
`rehearse` plays on it.

Places, held reasons, and what serves in the members that are left are compared. Instants are compared on the virtual
clock, where they can be (tests/world).
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kubeapi.codec import render_yaml
from kubeapi.meta import Manifest
from leeward.answers.fleet_state import FleetState, decode_state
from leeward.answers.imagined import ImaginedChange
from leeward.answers.resilience import survey
from leeward.answers.what_if import what_if
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.sim.rehearsal.rehearsal import rehearse
from leeward.sim.rehearsal.scenario_file import API_VERSION, Scenario, ScenarioSpec, ScenarioStep
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.world.stories import by_weight, deployment, policy

DUPLICATED: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
ONE_CLUSTER: Manifest = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
SOLO: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided"},
}
APPS: dict[str, tuple[int, Manifest]] = {
    "web": (4, by_weight({"member1": 1, "member2": 1})),
    "pull": (3, by_weight({"member2": 1, "member3": 2})),
    "solo": (2, SOLO),
    "all": (1, DUPLICATED),
    "one": (2, {**DUPLICATED, **ONE_CLUSTER}),
}
MEMBERS = frozenset({"member1", "member2", "member3"})
Fates = dict[str, tuple[dict[str, int], str]]
"""Clusters in which each application is, and the reason for which it is held."""


class Loss(NamedTuple):
    """Replicas that serve no more, the applications that they are of, and those that serve nobody."""

    missing: int
    wanting: int
    nobody: int


pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet")) as running:
        manifests = [made for name, (n, placed) in APPS.items() for made in (deployment(name, n), policy(name, placed))]
        for manifest in manifests:
            running.kubectl("create", "-f", "-", stdin=render_yaml(manifest))
        running.eventually(lambda: is_calm(running), "all run")
        yield running


def test_five_outages_are_told_and_rehearsed_as_they_happen(fleet: Fleet, tmp_path: Path) -> None:
    for fails, begin, end in (
        (["member1"], stopping(fleet, "stop", "member1"), stopping(fleet, "start", "member1")),
        (["member3"], stopping(fleet, "stop", "member3"), stopping(fleet, "start", "member3")),
        (["member2"], stopping(fleet, "pause", "member2"), stopping(fleet, "resume", "member2")),
        ([], lambda: fleet.leeward("drain", "member3"), lambda: fleet.leeward("uncordon", "member3")),
        (["member1", "member2"], stopping(fleet, "stop", "member1", "member2"), lambda: ""),
    ):
        state = snapshot(fleet, tmp_path / "fleet.json")
        drained = [] if fails else ["member3"]
        told, played = foretold(state, fails, drained), rehearsed(state, fails, drained)
        assert told == played
        assert told != fates(fleet), "something is to happen"
        before = serving(fleet, MEMBERS)
        begin()
        fleet.eventually(lambda told=told: fates(fleet) == told, f"{fails or drained}: {told}")
        if fails:
            loss = surveyed(state, fails)
            fleet.eventually(
                lambda loss=loss, before=before, fails=fails: loss == lost(fleet, before, fails), f"{fails}: {loss}"
            )
        end()
        if fails != ["member1", "member2"]:
            fleet.eventually(lambda: is_calm(fleet), "all is well again")
    assert fates(fleet) == told, "and it stays so"


def stopping(fleet: Fleet, verb: str, *members: str) -> Callable[[], str]:
    return lambda: "".join(fleet.leeward("member", verb, member) for member in members)


def snapshot(fleet: Fleet, file: Path) -> FleetState:
    fleet.leeward("snapshot", str(file))
    return decode_state(file.read_bytes())


def foretold(state: FleetState, fails: Sequence[str], drained: Sequence[str]) -> Fates:
    """Fates that are foretold: what is not concerned stays as it is."""
    told = what_if(state, ImaginedChange(frozenset(fails), frozenset(drained)))
    found: Fates = {
        b.spec.resource.name: ({t.name: t.replicas for t in b.spec.clusters}, "") for b in state.bindings.values()
    }
    for each in told.applications:
        found[each.workload.rpartition("/")[2]] = dict(each.after), each.reason
    return found


def rehearsed(state: FleetState, fails: Sequence[str], drained: Sequence[str]) -> Fates:
    step = ScenarioStep(fail=tuple(fails)) if fails else ScenarioStep(drain=tuple(drained))
    spec = ScenarioSpec(steps=(step,), duration="40s")
    report = rehearse(state, Scenario(api_version=API_VERSION, kind="Rehearsal", spec=spec))
    assert (report.left_out, report.differs) == ([], [])
    return {each.workload.rpartition("/")[2]: (each.after, each.held) for each in report.applications}


def surveyed(state: FleetState, fails: Sequence[str]) -> Loss:
    (loss,) = survey(state, {"loss": frozenset(fails)}).losses
    return Loss(loss.missing, loss.wanting, loss.nobody)


def lost(fleet: Fleet, before: Mapping[str, int], fails: Sequence[str]) -> Loss:
    """Loss that the members left show. What would gain nothing is kept by choice, and missed by nobody."""
    after, now = serving(fleet, MEMBERS.difference(fails)), fates(fleet)
    kept = {name for name, (_, held) in now.items() if held == "NothingToGain"}
    missing = [before[name] - after[name] for name in before.keys() - kept]
    return Loss(sum(missing), sum(map(bool, missing)), sum(not after[name] for name in before))


def serving(fleet: Fleet, members: Collection[str]) -> dict[str, int]:
    """Ready replicas of each application in these members."""
    found = [item for name in members for item in fleet.get("deployments", context=name)["items"]]
    return {
        app: sum(each["status"].get("readyReplicas", 0) for each in found if each["metadata"]["name"] == app)
        for app in APPS
    }


def fates(fleet: Fleet) -> Fates:
    return {item["spec"]["resource"]["name"]: _fate(item) for item in fleet.get("resourcebindings")["items"]}


def _fate(binding: Manifest) -> tuple[dict[str, int], str]:
    targets = {target["name"]: target.get("replicas", 0) for target in binding["spec"].get("clusters", ())}
    conditions: list[Any] = binding.get("status", {}).get("conditions", ())
    return targets, next((c["reason"] for c in conditions if c["type"] == EVICTION_HELD_CONDITION), "")


def is_calm(fleet: Fleet) -> bool:
    """All clusters are well, nothing moves, and everything is ready that is assigned."""
    clusters, bindings = fleet.get("clusters")["items"], fleet.get("resourcebindings")["items"]
    well = all(not cluster["spec"].get("taints") and _is_ready(cluster) for cluster in clusters)
    return well and len(bindings) == len(APPS) and all(_is_settled(binding) for binding in bindings)


def _is_ready(cluster: Manifest) -> bool:
    conditions = cluster.get("status", {}).get("conditions", ())
    return {c["type"]: c["status"] for c in conditions}.get("Ready") == "True" and not any(
        condition["type"] == "leeward.dev/Failing" for condition in conditions
    )


def _is_settled(binding: Manifest) -> bool:
    spec, items = binding["spec"], binding.get("status", {}).get("aggregatedStatus", ())
    healthy = {item["clusterName"] for item in items if item.get("health") == "Healthy"}
    targets = {target["name"] for target in spec.get("clusters", ())}
    return bool(targets) and healthy == targets and not spec.get("gracefulEvictionTasks")
