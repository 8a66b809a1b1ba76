"""`leeward status` against an API server that only keeps objects: what is said, in which form, and how it exits."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubeapi.codec import parse_yaml
from kubeapi.loop.randomness import Randomness
from leeward.app.local.credentials import issue_credentials
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.layout import Layout
from leeward.cli import status as status_module
from leeward.cli.program import main
from tests.json_server import JsonServer
from tests.ports import free_port
from tests.verbs import NoMembers, Verb, call_verb

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
BINDINGS = "/apis/work.karmada.io/v1alpha2/resourcebindings"
Run = Verb


@pytest.fixture
def server(control_plane: JsonServer) -> JsonServer:
    control_plane.refusals["/readyz"] = (200, b"ok")
    return control_plane


@pytest.fixture(autouse=True)
def no_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_module, "_orphans", NoMembers)


@pytest.fixture
def run(layout: Layout, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        return call_verb(capsys, "status", "--kubeconfig", layout.kubeconfig, *arguments)

    return call


def joins(server: JsonServer, name: str, status: str = "True", message: str = "", **more: Any) -> None:
    condition = {"type": "Ready", "status": status, "reason": "AReason", "message": message}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    server.objects[f"{CLUSTERS}/{name}"] = {
        "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
        "status": {"conditions": [condition], **more},
    }


def test_when_all_is_well_it_says_so_and_exits_0(server: JsonServer, run: Run) -> None:
    joins(server, "a", resourceSummary={"allocatable": {"cpu": "32"}, "allocated": {"cpu": "1500m"}})
    joins(server, "b")
    code, out, err = run()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("karmada-apiserver, as of ")
    assert lines[2] == "  all is well: 2 of 2 clusters ready"
    assert lines[5].split() == ["CLUSTER", "STATE", "SINCE", "FOR", "CORES", "OF", "REPLICAS", "APPS", "NOTE"]
    assert lines[6].split()[0:2] == ["a", "Ready"]
    assert lines[6].split()[-5:] == ["1.5", "32.0", "0", "0", "-"]
    assert lines[7].split()[-5:] == ["-", "-", "0", "0", "-"]
    assert lines[9] == "  0 applications, 0 replicas"


def test_what_is_wrong_comes_first_within_100_columns_and_without_colours(server: JsonServer, run: Run) -> None:
    joins(server, "a")
    joins(server, "z", "False", "connection refused, " * 40)
    code, out, _ = run()
    assert code == 1
    lines = out.splitlines()
    assert lines[2].startswith("! z is down (since ")
    assert lines[6].startswith("    leeward explain cluster/z --kubeconfig"), "a long message is cut after four lines"
    assert [line.split()[0] for line in lines if "eady  " in line] == ["z", "a"], "the worst row first"
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in out


def holds(server: JsonServer, name: str, reason: str, kind: str = "Deployment") -> None:
    condition = {"type": "leeward.dev/EvictionHeld", "status": "True", "reason": reason, "message": "so"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    resource = {"apiVersion": "v1" if kind == "ConfigMap" else "apps/v1", "kind": kind, "name": name, "namespace": "x"}
    spec = {"resource": resource, "replicas": 0 if kind == "ConfigMap" else 2}
    server.objects[f"{BINDINGS}/{name}"] = {
        "metadata": {"name": name, "namespace": "x"},
        "spec": spec,
        "status": {"conditions": [condition]},
    }


def test_evictions_that_are_kept_or_wait_are_counted(server: JsonServer, run: Run) -> None:
    joins(server, "a")
    holds(server, "web", "NothingToGain")
    holds(server, "shop", "WaitingForTurn")
    told = " ".join(run()[1].split())
    assert (
        "1 application is not evicted, because a move would not help (NothingToGain): see `leeward explain "
        "deployment/web -n x --kubeconfig " in told
    )
    assert (
        "; 1 application is not evicted, because others leave first (WaitingForTurn): see `leeward explain "
        "deployment/shop -n x " in told
    )
    holds(server, "mail", "NothingToGain")
    holds(server, "settings", "NothingToGain", "ConfigMap")
    holds(server, "shop", "VolumesStay")
    told = " ".join(run()[1].split())
    many = "2 applications are not evicted, because a move would not help (NothingToGain): see for example `"
    assert many in told, "a ConfigMap is none, as in the Outage"
    assert "; 1 application is not evicted, because volumes cannot move (VolumesStay): see `leeward " in told


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_machines_get_the_same(server: JsonServer, run: Run, form: str) -> None:
    joins(server, "a", "False", "gone\x9b2K\u202e")
    code, out, _ = run("-o", form)
    assert code == 1
    assert out.isascii(), "what others have written cannot act on a terminal"
    told = json.loads(out) if form == "json" else next(iter(parse_yaml(out)))
    (cluster,), (finding,) = told["clusters"], told["findings"]
    assert (cluster["name"], cluster["ready"], cluster["state"]) == ("a", "False", "Not ready")
    assert cluster["note"] == "gone\x9b2K\u202e"
    assert (finding["severity"], finding["about"]) == ("NeedsSomebody", "cluster/a")
    assert (told["controlPlane"], told["problem"], told["unseen"]) == ("karmada-apiserver", "", [])


def test_a_row_cannot_be_forged(server: JsonServer, run: Run) -> None:
    joins(server, "a", "False", "gone\n  b  Ready\r\x1b[1A\x1b[2K")
    _, out, _ = run()
    assert not [line for line in out.splitlines() if line.startswith("  b ")]
    assert r"gone\n  b  Ready\r\x1b[1A\x1b[2K" in out.replace("\n      ", "")


def test_what_could_not_be_seen_is_not_well(server: JsonServer, run: Run) -> None:
    joins(server, "a")
    server.refusals[BINDINGS] = (403, b'{"kind": "Status", "code": 403, "message": "you may not list bindings"}')
    code, out, _ = run()
    assert code == 2
    assert "? could not be seen: bindings: you may not list bindings" in out
    assert "all is well" not in out
    assert "applications" not in out


def test_findings_count_for_more_than_what_could_not_be_seen(server: JsonServer, run: Run) -> None:
    joins(server, "a", "False")
    server.refusals[BINDINGS] = (403, b'{"kind": "Status", "code": 403, "message": "no"}')
    assert run()[0] == 1


def test_a_control_plane_without_clusters_that_can_be_seen_could_not_be_looked_at(server: JsonServer, run: Run) -> None:
    server.refusals[CLUSTERS] = (403, b'{"kind": "Status", "code": 403, "message": "no"}')
    code, out, _ = run()
    assert (code, "clusters: unknown" in out) == (2, True)
    assert run("-o", "json")[0] == 2


def test_a_store_that_fails_is_named_with_the_reason(server: JsonServer, run: Run) -> None:
    joins(server, "a")
    report = b"[+]ping ok\n[-]etcd failed: reason withheld\n[+]ready ok\nreadyz check failed\n"
    server.refusals["/readyz"] = (500, report)
    server.refusals["/readyz/etcd"] = (500, b"internal server error: no space is left on the disk\n")
    code, out, _ = run()
    assert code == 1
    assert out.splitlines()[2] == "! the store of the API server fails: no space is left on the disk"


def test_an_answer_in_another_form_does_not_break_it(server: JsonServer, run: Run) -> None:
    joins(server, "a")
    server.objects[f"{CLUSTERS}/odd"] = {"metadata": {"name": "odd"}, "spec": "none"}
    server.objects[f"{BINDINGS}/odd"] = {"metadata": {"name": "odd", "namespace": "x"}, "spec": {"clusters": 7}}
    code, out, _ = run()
    assert code == 1
    assert "! odd cannot be read: " in out
    assert "! 1 binding cannot be read: x/odd" in out


@pytest.mark.parametrize("form", ["table", "json"])
def test_where_nobody_answers_it_exits_2(layout: Layout, run: Run, form: str) -> None:
    issue_credentials(layout, LocalFleet(port := free_port()), Randomness(1))
    code, out, err = run("-o", form)
    assert (code, out) == (2, "")
    assert f"127.0.0.1:{port}" in err


def test_without_a_fleet_it_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["status", "--data-dir", str(tmp_path / "none")])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("leeward: there is no fleet in")


def test_watching_shows_changes_once_and_ends_with_the_last_answer(
    server: JsonServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins(server, "a")
    looks = iter(["same", "same", "dies", "same", "end"])

    def next_look(seconds: float) -> None:
        assert seconds == status_module.WATCH_SECONDS
        match next(looks):
            case "dies":
                joins(server, "a", "False")
            case "end":
                raise KeyboardInterrupt
            case _:
                pass

    monkeypatch.setattr(status_module.time, "sleep", next_look)
    monkeypatch.setattr(status_module, "interrupt_on_termination", lambda: None)
    code, out, err = run("-w")
    assert (code, err) == (1, "")
    assert out.count("as of") == 2
    assert out.count("all is well") == 1
    assert out.count("! a is down") == 1
