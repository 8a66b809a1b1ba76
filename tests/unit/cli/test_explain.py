"""`leeward explain` as a user calls it: of a file, with bad input, and for programs."""

import json
from pathlib import Path

import msgspec
import pytest

from leeward.answers.fleet_state import FleetState, encode_state
from tests.builders import at, binding, cluster, dead, divided, targets
from tests.fleet_pictures import picture_of
from tests.verbs import call_verb


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.json"
    path.write_bytes(encode_state(held_fleet()))
    return path


def held_fleet() -> FleetState:
    """Fleet with a binding whose only cluster has been lost for long."""
    held = binding(divided({"a": 1}), 2, targets(a=2))
    return picture_of([dead("a", since=-400), cluster("b")], [held])


def test_what_is_held_comes_first_and_exits_with_1(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_verb(capsys, "explain", "deploy/nginx", "--from", file)
    lines = out.split("\n")
    assert (code, err) == (1, "")
    assert lines[0] == "Deployment default/nginx, 2 replicas, as of 00:00:00 UTC, 1 Jan 2026"
    assert lines[2] == "! Cannot move (NoPlaceToGo): The policy allows a only, and a is down."
    assert [line for line in lines if line.isupper() and not line.startswith(" ")] == [
        "WHERE",
        "WHY",
        "NEXT",
        "WHAT WOULD HELP",
    ]
    assert all(len(line) <= 100 for line in lines)
    assert "\x1b" not in out


def test_programs_get_the_same_as_json_and_yaml(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_verb(capsys, "explain", "deploy/nginx", "--from", file, "-o", "json")
    told = json.loads(out)
    assert (code, told["state"], told["reason"]) == (1, "Held", "NoPlaceToGo")
    (copy,) = told["where"]
    assert (copy["cluster"], copy["assigned"], copy["ready"]) == ("a", 2, None)
    assert (copy["what"], copy["thereSince"]) == ("unknown since 00:00:00", None)
    code, out, _ = call_verb(capsys, "explain", "cluster/a", "--from", file, "-o", "yaml")
    assert (code, "cluster: a" in out.split("\n")) == (1, True)


@pytest.mark.parametrize(
    "question",
    [
        ("explain", "deploy/nginx"),
        ("explain", "cluster/a"),
        ("timeline",),
        ("timeline", "-o", "markdown"),
        ("what-if", "--fail", "b"),
        ("resilience",),
    ],
)
def test_what_nobody_watches_is_told_as_of_then(
    question: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = held_fleet()
    unwatched = FleetState(msgspec.structs.replace(watched.recorded, unwatched_since=at(-660)))
    for state, said in ((watched, False), (unwatched, True)):
        (tmp_path / "fleet.json").write_bytes(encode_state(state))
        _, out, _ = call_verb(capsys, *question, "--from", tmp_path / "fleet.json")
        first, *rest = out.split("\n")
        sentence = "! nobody watches the clusters (since 31 Dec 2025, 11 min ago): what follows is as of then"
        assert (first == sentence) is said
        assert sentence not in rest
        _, out, _ = call_verb(capsys, *question, "--from", tmp_path / "fleet.json", "-o", "json")
        assert json.loads(out)["unwatchedSince"] == ("2025-12-31T23:49:00Z" if said else None)


def test_what_is_well_exits_with_0(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call_verb(capsys, "explain", "cluster/b", "--from", file)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nginx",), "RESOURCE 'nginx' is no TYPE/NAME: write deploy/web, rb/web-deployment or cluster/member1"),
        (("deploy/",), "RESOURCE 'deploy/' is no TYPE/NAME"),
        (("deploy/other",), "there is no binding of deploy/other in namespace default: no policy selects it"),
        (("deploy/nginx", "-n", "shop"), "there is no binding of deploy/nginx in namespace shop"),
        (("cluster/c",), "there is no cluster 'c': choose from a, b"),
        (("work/x",), "a Work is in an execution space: add -n karmada-es-CLUSTER"),
        (("deploy/nginx", "-o", "wide"), "'wide' is not one of 'table', 'json', 'yaml'"),
        (("deploy/nginx", "--context", "x"), "--from asks a file: leave out --kubeconfig and --context"),
        ((), "Missing argument 'TYPE/NAME'"),
    ],
)
def test_bad_input_names_the_field_and_the_way_out_and_is_no_finding(
    arguments: tuple[str, ...], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "explain", *arguments, "--from", file)
    assert (code, out) == (2, "")
    assert said in err


def test_a_file_that_is_no_picture_is_refused_by_its_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = msgspec.to_builtins(held_fleet().recorded)
    for change, said in (
        ({"kind": "Pod"}, "the file has a leeward.dev/v1alpha1 Pod, not a leeward.dev/v1alpha1 FleetState"),
        ({"bindings": 3}, "at `$.bindings`"),
    ):
        file = tmp_path / "bad.json"
        file.write_bytes(msgspec.json.encode({**recorded, **change}))
        code, _, err = call_verb(capsys, "explain", "deploy/nginx", "--from", file)
        assert (code, said in err, "leeward snapshot FILE" in err) == (2, True, True)
    code, _, err = call_verb(capsys, "explain", "deploy/nginx", "--from", tmp_path / "none")
    assert (code, "cannot be read: No such file" in err) == (2, True)
