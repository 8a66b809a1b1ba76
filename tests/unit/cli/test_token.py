"""`leeward token` against an API server that only keeps objects."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from leeward.app.local.layout import Layout
from tests.json_server import JsonServer, serve_json
from tests.verbs import Verb, call_verb, fleet_of_one, issued

TOKENS = "/api/v1/namespaces/kube-system/secrets"
Run = Verb


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return issued(tmp_path_factory.mktemp("fleet"), fleet_of_one(20_000))


@pytest.fixture
def server(layout: Layout) -> Iterator[JsonServer]:
    with serve_json(layout) as server:
        issued(layout.root, fleet_of_one(server.port))
        details = {"name": "member1", "group": "cluster.karmada.io", "kind": "clusters"}
        missing = {"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404, "details": details}
        server.refusals["/apis/cluster.karmada.io/v1alpha1/clusters/member1"] = (404, json.dumps(missing).encode())
        yield server


@pytest.fixture
def run(layout: Layout, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str | Path) -> tuple[int, str, str]:
        return call_verb(capsys, "token", *arguments, "--kubeconfig", layout.kubeconfig)

    return call


def test_a_token_that_never_ends_is_made_with_a_warning_and_the_way_to_end_it(server: JsonServer, run: Run) -> None:
    code, out, err = run("create", "--cluster", "member1", "--ttl", "0s")
    (secret,) = [value for path, value in server.objects.items() if path.startswith(TOKENS)]
    token_id = secret["metadata"]["name"].removeprefix("bootstrap-token-")
    assert code == 0
    assert "expiration" not in secret["data"]
    assert out.startswith("leeward register https://127.0.0.1:")
    assert err == f"warning: this token never ends: `leeward token delete {token_id}` when it has been used\n"
    _, listed, _ = run("list")
    assert "never" in listed


def test_a_token_ends_after_a_day_unless_told_otherwise(server: JsonServer, run: Run) -> None:
    code, _, err = run("create", "--cluster", "member1")
    (secret,) = [value for path, value in server.objects.items() if path.startswith(TOKENS)]
    assert (code, err) == (0, "")
    assert secret["data"]["expiration"]


@pytest.mark.parametrize("ttl", ["-1h", "never", "1h-2h"])
def test_a_time_to_live_that_is_none_is_refused_and_no_token_made(server: JsonServer, run: Run, ttl: str) -> None:
    code, _, err = run("create", f"--ttl={ttl}")
    assert code == 2
    assert "--ttl" in err
    assert not server.objects
