"""Names that others have given, on the terminals of operators.

The attacker names something that an operator will read: a cluster, a workload, a kind, a token's description, a
condition's message, an error of an API server. The name holds codes of terminals, ends of lines, marks that turn the
direction of text, or is very long.

It must not: forge a line or a row, move the cursor, colour or hide anything, change a title or a clipboard, or push
what others say out of sight; neither in what a verb prints nor in a log.
"""

import base64
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from kubeapi.errors import error_of
from kubeapi.process import KeyValueFormatter
from kubeapi.text import shown, shown_lines
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import save_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.cli import drain as drain_module
from leeward.cli import status as status_module
from leeward.cli.output import complain, say, say_line
from leeward.cli.program import VERBS as PROGRAM_VERBS
from leeward.cli.tables import MAX_CELL, render_table
from tests.json_server import JsonServer, serve_json
from tests.verbs import NoMembers, call_verb, fleet_of_one, issued, pretend_to_run

NASTY = (
    "a\n  b  Ready forged",
    "a\r\x1b[1A\x1b[2Kforged",
    "\x1b]0;title\x07\x1b]52;c;Zm9yZ2Vk\x07",
    "\x9b31m\x85forged",
    "\u202edegrof\u2066\u2069\u200b\u200e",
    "a\u2028b  Ready forged\u2029",
    "\x00\x7f\x08\x0b\x0c",
    "\U000e0001\U000e0041\ufeff\xad",
    "a" + "\u0300" * 500,
    "x" * 100_000,
)
"""Each ends with what an attacker wants to be seen in a line of its own, where it can."""
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
BINDINGS = "/apis/work.karmada.io/v1alpha2/resourcebindings"
BRAKE = "/api/v1/namespaces/karmada-system/configmaps/leeward-brake"
TOKENS = "/api/v1/namespaces/kube-system/secrets"
SOURCE = Path(__file__).parents[2] / "src/leeward"
_ACTS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)

Run = Callable[..., str]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return issued(tmp_path_factory.mktemp("fleet"), fleet_of_one(20_000))


@pytest.fixture
def server(layout: Layout) -> Iterator[JsonServer]:
    with serve_json(layout) as server:
        save_fleet(layout, fleet_of_one(server.port))
        issued(layout.root, fleet_of_one(server.port))
        server.refusals["/readyz"] = (200, b"ok")
        pretend_to_run(layout, CONTROL_PLANE)
        yield server


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_rest() -> None:
        raise FleetError(NASTY[0])

    monkeypatch.setattr(status_module, "_orphans", NoMembers)
    monkeypatch.setattr(drain_module, "rest", no_rest)


@pytest.fixture
def run(layout: Layout, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str, fleet: bool = True) -> str:
        where = ("--data-dir", str(layout.root)) if fleet else ("--kubeconfig", str(layout.kubeconfig))
        _, out, err = call_verb(capsys, *arguments, *where)
        return out + err

    return call


def check(text: str, most: int = 20_000) -> None:
    """Checks that nothing in it acts on a terminal, and no line of it is the attacker's: those of ours begin further
    left than where a sentence goes on.
    """
    assert text
    assert _ACTS.search(text) is None, ascii(_ACTS.search(text))
    lines = text.split("\n")
    assert not [line for line in lines if re.match(r" {0,4}(forged|b  Ready)", line)]
    assert max(map(len, lines)) < most
    assert "\u0300" * 5 not in text


def condition(kind: str, said: str, status: str = "False") -> dict[str, str]:
    at = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": said, "message": said, "lastTransitionTime": at}


def fill(server: JsonServer, nasty: str) -> None:
    """A cluster, a binding, the brake, and a token whose every text is `nasty`."""
    for number, name in enumerate(("member1", nasty)):
        taint = {"key": nasty, "value": nasty, "effect": "NoExecute"}
        conditions = [
            condition(kind, nasty) for kind in ("Ready", "leeward.dev/Failing", "leeward.dev/DoubtfulResources")
        ]
        server.objects[f"{CLUSTERS}/{number}"] = {
            "metadata": {"name": name, "annotations": {"leeward.dev/flapping": nasty}},
            "spec": {"syncMode": "Push", "taints": [taint], "region": nasty, "provider": nasty},
            "status": {"kubernetesVersion": nasty, "conditions": conditions},
        }
    server.objects[f"{CLUSTERS}/member1"] = server.objects.pop(f"{CLUSTERS}/0")
    resource = {"apiVersion": "apps/v1", "kind": nasty, "namespace": nasty, "name": nasty}
    held = ("leeward.dev/EvictionHeld", "leeward.dev/ClusterOutage", "leeward.dev/RemovalBlocked", "Scheduled")
    server.objects[f"{BINDINGS}/x"] = {
        "metadata": {"name": nasty, "namespace": nasty},
        "spec": {"resource": resource, "clusters": [{"name": "member1", "replicas": 2}, {"name": nasty}]},
        "status": {"conditions": [condition(kind, nasty, "True") for kind in held]},
    }
    engaged = {"engaged": "true", "since": "2026-01-01T00:00:00Z", "message": nasty}
    server.objects[BRAKE] = {"metadata": {"name": "leeward-brake"}, "data": engaged}
    token = {
        "token-id": nasty,
        "description": nasty,
        "expiration": nasty,
        "auth-extra-groups": "system:bootstrappers:karmada:default-cluster-token",
    }
    data = {key: base64.b64encode(value.encode()).decode() for key, value in token.items()}
    server.objects[f"{TOKENS}/bootstrap-token-x"] = {"metadata": {"name": "bootstrap-token-x"}, "data": data}


VERBS = (
    (("status",), True),
    (("status", "-o", "json"), True),
    (("status", "-o", "yaml"), True),
    (("brake", "status"), True),
    (("brake", "release"), True),
    (("cordon", "member1"), True),
    (("uncordon", "member1"), True),
    (("drain", "member1"), True),
    (("drain", "member1", "--undo"), True),
    (("taint", "member1", "a=b:NoSchedule"), True),
    (("confirm", "member1"), True),
    (("rollout", "status", "rb/web"), True),
    (("rollout", "pause", "rb/web"), True),
    (("rollout", "resume", "rb/web"), True),
    (("rollout", "undo", "rb/web"), True),
    (("orphans",), True),
    (("take-over", "--yes"), True),
    (("token", "list"), False),
    (("token", "delete", "abc"), False),
    (("unjoin", "member1", "--wait", "0s"), False),
    (("deinit", "--yes"), False),
)
ANSWERS = {"explain", "what-if", "resilience", "lint", "timeline", "rehearse", "render"}
"""Verbs that `test_escaping_of_answers` looks at, and `unit/cli/test_render` at the last."""
OF_ONE_LINE = {"adopt", "agent", "backup", "hand-back", "init", "join", "register", "replay", "snapshot", "unregister"}
"""Verbs that say what they do, and name what was typed, or one object at a time: by `say`, as the others."""
HERE = {"completion", "dashboard", "demo", "down", "logs", "member", "restore", "standby", "up", "version"}
"""Verbs that print what is of this machine: names that were checked when they were given, and logs (tried below)."""
SERVERS = {
    *("apiserver", "cluster-proxy", "controller-manager", "descheduler", "scheduler", "scheduler-estimator"),
    *("serve", "webhook"),
}
"""Verbs that print their log."""


def test_each_verb_is_tried_or_it_is_said_why_not() -> None:
    tried = {verb[0] for verb, _ in VERBS}
    assert {verb.name for verb in PROGRAM_VERBS if not verb.hidden} == tried | ANSWERS | OF_ONE_LINE | HERE | SERVERS


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize(("verb", "fleet"), VERBS, ids=[" ".join(verb) for verb, _ in VERBS])
def test_no_verb_prints_what_acts_on_a_terminal(
    server: JsonServer, run: Run, verb: tuple[str, ...], fleet: bool, nasty: str
) -> None:
    fill(server, nasty)
    check(run(*verb, fleet=fleet), most=10**6 if "-o" in verb else 20_000)


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_no_error_of_a_server_prints_what_acts_on_a_terminal(server: JsonServer, run: Run, nasty: str) -> None:
    said = json.dumps({"kind": "Status", "message": nasty, "reason": nasty, "code": 403}).encode()
    for path in (CLUSTERS, f"{CLUSTERS}/member1", BINDINGS, BRAKE, TOKENS):
        server.refusals[path] = (403, said)
    for verb, fleet in VERBS:
        check(run(*verb, fleet=fleet))


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_what_goes_out_is_escaped(nasty: str, capsys: pytest.CaptureFixture[str]) -> None:
    complain(nasty)
    say_line(nasty)
    say(render_table(("NAME", "NOTE"), [(nasty, "b"), ("c", nasty)]))
    check(capsys.readouterr().out)
    complain(f"{nasty}\nleeward: forged")
    said = capsys.readouterr().err
    assert [line for line in said.splitlines() if line.startswith("leeward: ")] == said.splitlines()[:1]
    table = render_table(("NAME", "NOTE"), [(nasty, "b"), ("c", nasty)]).split("\n")
    assert len(table) == 3
    assert max(map(len, table)) < 5 * MAX_CELL
    assert len(shown(nasty, 40)) <= 40 * 10
    assert "\n" not in shown(nasty)
    assert len(str(error_of(500, nasty.encode()))) < 50_000


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_no_log_line_is_forged(nasty: str) -> None:
    forged = f'{nasty}\ntime=2026 level=info logger=leeward message="forged"'
    try:
        raise ValueError(forged)
    except ValueError:
        record = logging.LogRecord("leeward", logging.ERROR, "", 1, "failed: %s", (forged,), sys.exc_info())
    lines = KeyValueFormatter().format(record).split("\n")
    assert [line for line in lines if line.startswith("time=")] == lines[:1]
    assert _ACTS.search("".join(lines)) is None
    assert json.loads(lines[0].partition(" message=")[2]) == f"failed: {forged}"


def test_what_is_only_unusual_is_left_as_it_is() -> None:
    for text in ("Zürich", "東京", "naïve e\u0301", "عربي", "👩 ok", "a  b"):
        assert shown(text) == text
    assert shown_lines("a\nb") == "a\nb"


def test_text_goes_out_at_one_place() -> None:
    """`status` colours what it has escaped, and `completion` prints a script of ours."""
    allowed = {"cli/output.py", "cli/status.py", "cli/completion.py"}
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(r"\bclick\.(s?echo|echo_via_pager)\b|\bsys\.std(out|err)\.write", path.read_text())
    }
    assert found == allowed
    assert click.unstyle(click.style("a", fg="red")) == "a"
