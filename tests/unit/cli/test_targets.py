"""Control plane that a verb is for: what was named, the fleet of this machine, or what kubectl would take."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kubeapi.codec import parse_yaml, render_yaml
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from leeward.app.local.api import AdminClient, NoAnswer
from leeward.app.local.credentials import issue_credentials
from leeward.app.local.fleet import LocalFleet, Member, save_fleet
from leeward.app.local.layout import Layout
from leeward.cli.program import kubectl_plugin
from tests.json_server import JsonServer, serve_json
from tests.ports import free_port
from tests.verbs import Verb, call_verb, pretend_to_run

MEMBER1 = "/apis/cluster.karmada.io/v1alpha1/clusters/member1"
Run = Verb


@pytest.fixture(autouse=True)
def nobodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("LEEWARD_DATA_DIR", raising=False)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[JsonServer]:
    """A control plane that is not of this machine's fleet, and whose kubeconfig is `elsewhere/kubeconfig`."""
    layout = Layout(tmp_path / "elsewhere")
    issue_credentials(layout, LocalFleet(free_port()), Randomness(1))
    with serve_json(layout) as server:
        issue_credentials(layout, LocalFleet(server.port, (Member("member1", "push", free_port()),)), Randomness(1))
        server.objects[MEMBER1] = {"metadata": {"name": "member1"}, "spec": {"syncMode": "Push"}}
        yield server


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str | Path) -> tuple[int, str, str]:
        return call_verb(capsys, *arguments)

    return call


def own_fleet(root: Path) -> LocalFleet:
    """A fleet of this machine, which does not run."""
    fleet = LocalFleet(free_port())
    save_fleet(Layout(root), fleet)
    issue_credentials(Layout(root), fleet, Randomness(1))
    return fleet


def taints(server: JsonServer) -> list[Any]:
    return server.objects[MEMBER1]["spec"].get("taints", [])


@pytest.mark.parametrize(
    ("verb", "says"),
    [
        (("cordon", "member1"), "member1 cluster cordoned\n"),
        (("uncordon", "member1"), "member1 cluster already uncordoned\n"),
        (("taint", "member1", "a=b:NoSchedule"), "cluster/member1 tainted\n"),
        (("brake", "status"), "the brake is not engaged\n"),
        (("brake", "release"), "the brake is not engaged\n"),
        (
            ("drain", "member1"),
            "member1 is being drained (taint leeward.dev/drain:NoExecute)\nmember1 is drained\n",
        ),
    ],
)
@pytest.mark.parametrize(
    "named",
    [(), ("--context", "karmada-apiserver"), ("--karmada-context", "karmada-apiserver"), ("--data-dir", "fleet")],
)
def test_a_kubeconfig_that_is_named_wins_over_the_fleet_of_this_machine(
    tmp_path: Path,
    server: JsonServer,
    run: Run,
    verb: tuple[str, ...],
    says: str,
    named: tuple[str, ...],
) -> None:
    assert not server.users
    own_fleet(tmp_path / "home" / ".leeward")
    kubeconfig = ("--kubeconfig", tmp_path / "elsewhere" / "kubeconfig")
    assert run(*verb, *kubeconfig, *named) == (0, says, "")


def test_the_fleet_of_this_machine_is_not_left_for_a_variable(
    tmp_path: Path, server: JsonServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = own_fleet(tmp_path / "home" / ".leeward")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "elsewhere" / "kubeconfig"))
    code, _, err = run("cordon", "member1")
    assert (code, taints(server)) == (1, [])
    assert f"127.0.0.1:{fleet.control_plane_port}" in err
    assert "the control plane does not run, start it with `leeward up`" in err
    assert run("cordon", "member1", "--context", "karmada-apiserver")[0] == 0
    assert len(taints(server)) == 1


def test_kubectls_plug_in_asks_what_kubectl_would_and_says_its_own_name(
    tmp_path: Path, server: JsonServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own_fleet(tmp_path / "home" / ".leeward")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "elsewhere" / "kubeconfig"))
    for arguments, code, out, err in (
        (["cordon", "member1"], 0, "member1 cluster cordoned\n", ""),
        (["cordon"], 2, "", "leeward: Missing argument 'CLUSTER' (see `kubectl leeward cordon --help`)\n"),
    ):
        with pytest.raises(SystemExit) as end:
            kubectl_plugin(arguments)
        assert (end.value.code, *capsys.readouterr()) == (code, out, err)
    assert len(taints(server)) == 1


def test_without_a_fleet_the_variable_is_read_as_kubectl_does(
    tmp_path: Path, server: JsonServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    kubeconfig: Manifest = next(iter(parse_yaml((tmp_path / "elsewhere" / "kubeconfig").read_bytes())))
    kubeconfig |= {"current-context": "", "users": []}
    other.write_text(render_yaml(kubeconfig))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{other}:{tmp_path / 'elsewhere' / 'kubeconfig'}")
    assert run("cordon", "member1") == (0, "member1 cluster cordoned\n", "")
    assert run("cordon", "member1", "--data-dir", tmp_path / "x")[2].startswith("leeward: there is no fleet in")
    code, _, err = run("cordon", "member1", "--context", "nowhere")
    assert (code, "there is no context 'nowhere'" in err) == (1, True)


def test_where_there_is_nothing_the_ways_out_are_named(run: Run) -> None:
    code, _, err = run("cordon", "member1")
    assert code == 1
    assert "there is no fleet in" in err
    assert err.endswith("or name a control plane with --kubeconfig\n")


def test_a_server_without_clusters_is_named_as_what_it_is(tmp_path: Path, server: JsonServer, run: Run) -> None:
    missing = (404, b'{"kind": "Status", "code": 404, "message": "the server could not find the requested resource"}')
    server.refusals = dict.fromkeys((MEMBER1, MEMBER1.removesuffix("/member1")), missing)
    code, _, err = run("cordon", "member1", "--kubeconfig", tmp_path / "elsewhere" / "kubeconfig")
    assert code == 1
    assert "this is no control plane of Leeward or Karmada" in err


def test_a_row_cannot_be_forged_by_what_others_have_written(tmp_path: Path, server: JsonServer, run: Run) -> None:
    message = "no room\n  Deployment default/other: moved\x1b[2K\u202e"
    held = [{"type": "leeward.dev/EvictionHeld", "status": "True", "reason": "NoPlaceToGo", "message": message}]
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    server.objects["/apis/work.karmada.io/v1alpha2/resourcebindings/web"] = {
        "metadata": {"name": "web-deployment", "namespace": "default"},
        "spec": {"resource": resource, "clusters": [{"name": "member1"}]},
        "status": {"conditions": held},
    }
    kubeconfig = tmp_path / "elsewhere" / "kubeconfig"
    _, out, _ = run("drain", "member1", "--timeout", "0s", "--kubeconfig", kubeconfig)
    assert out.splitlines()[1:] == [
        r"  Deployment default/web: cannot move. no room\n  Deployment default/other: moved\x1b[2K\u202e"
    ]


def test_a_backup_of_a_server_that_is_not_ours_is_refused_with_what_to_do(
    tmp_path: Path, server: JsonServer, run: Run
) -> None:
    own_fleet(tmp_path / "home" / ".leeward")
    file = tmp_path / "backup.tar"
    code, out, err = run("backup", file, "--kubeconfig", tmp_path / "elsewhere" / "kubeconfig")
    assert (code, out, file.exists()) == (1, "", False)
    assert "nothing is backed up" in err
    assert "etcdctl snapshot save" in err


@pytest.mark.parametrize("verb", [("cordon", "member1"), ("status",), ("dashboard",)])
def test_whoever_answers_in_the_place_of_a_fleet_that_does_not_run_is_not_asked(
    tmp_path: Path, server: JsonServer, run: Run, verb: tuple[str, ...]
) -> None:
    """The story is that of a fleet that was restored: the one that was backed up runs, with the same keys and port."""
    save_fleet(Layout(tmp_path / "elsewhere"), LocalFleet(server.port))
    code, out, err = run(*verb, "--data-dir", tmp_path / "elsewhere")
    assert code == 1
    assert "the control plane does not run, start it with `leeward" in " ".join((out + err).split())
    assert not server.users


def test_a_fleet_that_does_not_run_is_something_to_say_with_the_command_for_that_fleet(
    tmp_path: Path, run: Run
) -> None:
    own_fleet(root := tmp_path / "a fleet")
    code, out, err = run("--data-dir", root, "status")
    assert (code, err) == (1, "")
    assert f"start it with `leeward --data-dir '{root}' up`" in " ".join(out.split())
    assert "leeward member" not in out


def test_a_certificate_that_does_not_verify_is_no_silence(server: JsonServer, tmp_path: Path, run: Run) -> None:
    """Or who looks into the log of a process that runs, and answers, finds nothing there."""
    layout = Layout(tmp_path / "own")
    save_fleet(layout, LocalFleet(server.port))
    issue_credentials(layout, LocalFleet(server.port), Randomness(2))
    pretend_to_run(layout, "control-plane")
    said = f"https://127.0.0.1:{server.port} answers, and TLS fails over a certificate: "
    for question in (("explain", "cluster/member1"), ("cordon", "member1")):
        _, _, err = run(*question, "--data-dir", layout.root)
        assert said in err
        assert "certificate verify failed" in err
    with closing(AdminClient(layout, server.port)) as api, pytest.raises(NoAnswer, match=said):
        api.find(MEMBER1)
