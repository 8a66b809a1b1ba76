"""cordon, uncordon, taint, drain and brake against an API server that only keeps objects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leeward.app.local.fleet import save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.cli import drain as drain_module
from leeward.cli.program import main
from leeward.operations import taints as taints_module
from tests.json_server import JsonServer, serve_json
from tests.verbs import Verb, call_verb, fleet_of_one, issued, pretend_to_run

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
MEMBER1 = f"{CLUSTERS}/member1"
BINDINGS = "/apis/work.karmada.io/v1alpha2/resourcebindings"
BRAKE = "/api/v1/namespaces/karmada-system/configmaps/leeward-brake"
CORDON = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}
DRAIN = {"key": "leeward.dev/drain", "effect": "NoExecute"}

Run = Verb


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return issued(tmp_path_factory.mktemp("fleet"), fleet_of_one(20_000))


@pytest.fixture
def server(layout: Layout) -> Iterator[JsonServer]:
    with serve_json(layout) as server:
        save_fleet(layout, fleet_of_one(server.port))
        server.objects[MEMBER1] = {"metadata": {"name": "member1"}, "spec": {"syncMode": "Push"}}
        pretend_to_run(layout, CONTROL_PLANE)
        yield server


@pytest.fixture
def run(layout: Layout, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        return call_verb(capsys, *arguments, "--data-dir", layout.root)

    return call


def taints(server: JsonServer) -> list[dict[str, Any]]:
    return server.objects[MEMBER1]["spec"].get("taints", [])


def binding(name: str, **spec: Any) -> dict[str, Any]:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
    return {"metadata": {"name": f"{name}-deployment", "namespace": "default"}, "spec": {"resource": resource, **spec}}


def test_a_cluster_is_cordoned_once_and_uncordoned(server: JsonServer, run: Run) -> None:
    assert run("cordon", "member1") == (0, "member1 cluster cordoned\n", "")
    assert taints(server) == [CORDON]
    assert run("cordon", "member1") == (0, "member1 cluster already cordoned\n", "")
    assert run("uncordon", "member1") == (0, "member1 cluster uncordoned\n", "")
    assert taints(server) == []
    assert run("uncordon", "member1") == (0, "member1 cluster already uncordoned\n", "")


def test_a_rebuilt_cluster_is_confirmed_under_the_identity_that_was_seen(server: JsonServer, run: Run) -> None:
    nothing = "member1 cluster has nothing to confirm: it was not rebuilt under its name\n"
    assert run("confirm", "member1") == (0, nothing, "")
    told = {"type": "leeward.dev/ClusterReplaced", "status": "True", "reason": "IdentityChanged"}
    conditions = [{**told, "message": "u-2 is the uid of its Namespace kube-system, which was u-1"}]
    server.objects[MEMBER1]["status"] = {"conditions": conditions}
    assert run("confirm", "member1") == (0, "member1 cluster confirmed: volumes are made anew in u-2\n", "")
    assert server.objects[MEMBER1]["metadata"]["annotations"] == {"leeward.dev/confirmed-identity": "u-2"}
    conditions[0]["status"] = "False"
    assert run("confirm", "member1") == (0, nothing, "")


def test_taints_of_others_stay(server: JsonServer, run: Run) -> None:
    other = {"key": "example.com/x", "value": "y", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
    server.objects[MEMBER1]["spec"]["taints"] = [other]
    run("cordon", "member1")
    assert taints(server) == [other, CORDON]
    run("uncordon", "member1")
    assert taints(server) == [other]


def test_taints_are_added_and_removed_in_one_command(server: JsonServer, run: Run) -> None:
    assert run("taint", "member1", "a=b:NoExecute", "c:NoSchedule") == (0, "cluster/member1 tainted\n", "")
    assert run("taint", "member1", "a:NoExecute-", "d:NoSchedule") == (0, "cluster/member1 modified\n", "")
    assert [taint["key"] for taint in taints(server)] == ["c", "d"]
    assert run("taint", "member1", "c-") == (0, "cluster/member1 untainted\n", "")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("taint", "member1", "a-"), 'cluster member1: taint "a" not found'),
        (("confirm", "member9"), "there is no cluster 'member9': choose from member1"),
        (("cordon", "member9"), "there is no cluster 'member9': choose from member1"),
    ],
)
def test_a_mistake_is_named(server: JsonServer, run: Run, arguments: tuple[str, ...], problem: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert problem in err


def test_a_verb_that_was_called_wrongly_exits_with_another_code(server: JsonServer, run: Run) -> None:
    code, out, err = run("taint", "member1")
    assert (code, out) == (2, "")
    assert "Missing argument 'TAINT...'" in err
    code, out, err = run("taint", "member1", "a:Soon")
    assert (code, out) == (2, "")
    assert "'a:Soon': the effect 'Soon' is none of" in err


def test_a_cluster_that_others_change_all_the_time_is_left_alone(
    server: JsonServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = server.answer

    def refuse(method: str, path: str, body: Any) -> tuple[int, bytes]:
        modified = b'{"message": "the object has been modified"}'
        return (409, modified) if method == "PATCH" else answer(method, path, body)

    monkeypatch.setattr(server, "answer", refuse)
    monkeypatch.setattr(taints_module, "PAUSE_SECONDS", 0.0)
    code, _, err = run("cordon", "member1")
    assert code == 1
    assert "is being changed by others all the time: try again" in err


def test_a_drain_tells_what_moves_what_is_held_and_what_stays(
    server: JsonServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [{"name": "member1", "replicas": 2}]
    task = {"fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager"}
    tolerant = {"clusterTolerations": [{"operator": "Exists"}]}
    held = [{"type": "leeward.dev/EvictionHeld", "status": "True", "reason": "NoPlaceToGo", "message": "no room"}]
    looks = [
        [
            binding("daemon", clusters=here, placement=tolerant),
            {**binding("full", clusters=here), "status": {"conditions": held}},
            binding("web", clusters=[{"name": "member1", "replicas": 1}]),
            binding("elsewhere", clusters=[{"name": "member2"}]),
        ],
        [
            binding("daemon", clusters=here, placement=tolerant),
            binding("full", clusters=[], gracefulEvictionTasks=[task]),
        ],
        [binding("daemon", clusters=here, placement=tolerant)],
    ]
    answer = server.answer

    def next_look(method: str, path: str, body: Any) -> tuple[int, bytes]:
        if path == BINDINGS:
            server.objects = {k: v for k, v in server.objects.items() if not k.startswith(BINDINGS)}
            server.objects |= {f"{BINDINGS}/{b['metadata']['name']}": b for b in looks.pop(0)}
        return answer(method, path, body)

    monkeypatch.setattr(server, "answer", next_look)
    monkeypatch.setattr(drain_module, "POLL_SECONDS", 0)
    code, out, err = run("drain", "member1")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "member1 is being drained (taint leeward.dev/drain:NoExecute)",
        "  Deployment default/daemon: stays, because its policy tolerates the taint",
        "  Deployment default/full: cannot move. no room",
        "  Deployment default/web: 1 replica to move",
        "  Deployment default/web: moved",
        "  Deployment default/full: moving, until its replacement is healthy",
        "  1 of 2 moved",
        "  Deployment default/full: moved",
        "member1 is drained, but for 1 that stays",
    ]
    assert taints(server) == [DRAIN]


def test_a_drain_with_a_budget_keeps_it_until_it_is_given_another_or_undone(server: JsonServer, run: Run) -> None:
    def budget() -> str | None:
        return server.objects[MEMBER1]["metadata"].get("annotations", {}).get("leeward.dev/drain-budget")

    code, out, _ = run("drain", "member1", "--budget", "3")
    assert (code, budget(), taints(server)) == (0, "3", [DRAIN])
    assert "member1 is being drained (taint leeward.dev/drain:NoExecute, 3 at a time)" in out
    run("drain", "member1")
    assert budget() == "3"
    run("drain", "member1", "--budget", "0")
    assert budget() is None
    run("drain", "member1", "--budget", "2")
    run("uncordon", "member1")
    assert (budget(), taints(server)) == (None, [])


def test_a_drain_tells_what_waits_for_its_turn(server: JsonServer, run: Run) -> None:
    held = [
        {"type": "leeward.dev/EvictionHeld", "status": "True", "reason": "WaitingForTurn", "message": "2 at a time"}
    ]
    web = binding("web", clusters=[{"name": "member1"}])
    server.objects[f"{BINDINGS}/web"] = {**web, "status": {"conditions": held}}
    assert "  Deployment default/web: waits for its turn\n" in run("drain", "member1", "--timeout", "0s")[1]


def test_a_drain_is_undone_and_a_cordon_stays(server: JsonServer, run: Run) -> None:
    task = {"fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager"}
    server.objects[f"{BINDINGS}/web"] = binding("web", clusters=[], gracefulEvictionTasks=[task])
    server.objects[MEMBER1]["spec"]["taints"] = [CORDON, DRAIN]
    assert run("drain", "member1", "--undo") == (
        0,
        "member1 is no longer drained\n"
        "  under way, each stays unless its replacement is healthy first: Deployment default/web\n",
        "",
    )
    assert taints(server) == [CORDON]
    assert run("drain", "member1", "--undo")[1].startswith("member1 was not being drained\n")


def test_a_drain_that_takes_too_long_says_what_is_left_and_how_to_go_on(server: JsonServer, run: Run) -> None:
    server.objects[f"{BINDINGS}/web"] = binding("web", clusters=[{"name": "member1"}])
    code, _, err = run("drain", "member1", "--timeout", "0s")
    assert code == 1
    assert "Deployment default/web are still in it" in err
    assert "`leeward uncordon member1`" in err
    assert taints(server) == [DRAIN]
    run("uncordon", "member1")
    assert taints(server) == []


def test_a_drain_can_be_interrupted(server: JsonServer, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    server.objects[f"{BINDINGS}/web"] = binding("web", clusters=[{"name": "member1"}])
    monkeypatch.setattr(drain_module, "rest", interrupted)
    code, out, err = run("drain", "member1")
    assert (code, err) == (130, "\nleeward: interrupted\n")
    assert out.endswith("the drain goes on; `leeward uncordon member1` takes it back\n")


def test_a_brake_that_never_was_is_not_engaged(server: JsonServer, run: Run) -> None:
    assert run("brake", "status") == (0, "the brake is not engaged\n", "")
    assert run("brake", "release") == (0, "the brake is not engaged\n", "")
    assert BRAKE not in server.objects


def test_a_brake_that_is_engaged_says_why_and_is_released(server: JsonServer, run: Run) -> None:
    condition = (
        '{"type":"Engaged","status":"True","reason":"FleetLooksDead","message":"4 of 4 clusters seem to be down"}'
    )
    data = {"since": "2026-01-01T00:00:00Z", "condition": condition}
    server.objects[BRAKE] = {"metadata": {"name": "leeward-brake"}, "data": data}
    said = "the brake is engaged (since 2026-01-01T00:00:00Z): 4 of 4 clusters seem to be down\n"
    assert run("brake", "status") == (0, said, "")
    assert run("brake", "release") == (0, "the brake is released, until the fleet looks well again\n", "")
    assert server.objects[BRAKE]["data"] == {**data, "overruled": "true"}
    assert run("brake", "status")[1] == "the brake is released by hand: 4 of 4 clusters seem to be down\n"
    data["condition"] = condition.replace("4 of 4", "released by hand: 3 of 4")
    server.objects[BRAKE]["data"] = {**data, "overruled": "true"}
    assert run("brake", "status")[1] == "the brake is released by hand: 3 of 4 clusters seem to be down\n"


def test_a_fleet_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cordon", "member1", "--data-dir", str(tmp_path)])
    assert f"there is no fleet in {tmp_path}" in capsys.readouterr().err
