"""`leeward what-if` as a user calls it: of a file, with bad input, and for programs."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from leeward.answers.fleet_state import FleetState, NeededObject, TemplateNeeds, decode_state, encode_state
from leeward.api.cluster import ResourceSummary
from leeward.api.work import ReplicaRequirements
from leeward.operations.taints import CORDON
from tests.builders import binding, cluster, divided, targets
from tests.fleet_pictures import picture_of
from tests.verbs import call_verb

POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: p, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}]
  placement:
    clusterAffinity: {clusterNames: [b]}
    replicaScheduling: {replicaSchedulingType: Divided}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.json"
    app = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))
    clusters = [cluster("a", region="eu"), cluster("b", region="eu"), cluster("c", region="us")]
    path.write_bytes(encode_state(picture_of(clusters, [app])))
    return path


def test_what_finds_room_exits_with_0_and_says_when(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_verb(capsys, "what-if", "--fail", "a", "--at", "+10m", "--from", file)
    lines = out.split("\n")
    assert (code, err, lines[2]) == (0, "", "v 1 application is affected: it would serve with all replicas")
    assert "  Deployment default/nginx  a:2 b:2  b:4" in lines
    assert "  +10 min 30 s  a is not Ready; no new replica is placed there" in lines
    assert "  +20 min 30 s  1 application leaves" in lines


def test_shorter_clocks_are_asked_about(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clocks = ("--cluster-failure-threshold", "10s", "--failover-eviction-timeout", "1m")
    code, out, _ = call_verb(capsys, "what-if", "--fail", "a", *clocks, "--from", file)
    lines = [" ".join(line.split()) for line in out.split("\n")]
    assert code == 0
    assert "+10 s a is not Ready; no new replica is placed there" in lines
    assert "+1 min 10 s a is tainted with NoExecute" in lines
    assert "--cluster-failure-threshold 10 s, --failover-eviction-timeout 1 min" in out


def test_what_finds_no_room_while_it_lasts_exits_with_1_though_all_come_back(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("what-if", "--fail", "region=eu", "--recover-after", "1h", "--from", file)
    code, out, _ = call_verb(capsys, *asked)
    assert (code, out.split("\n")[2]) == (
        1,
        "! 1 application is affected: it would be down",
    )
    assert "APPLICATION SERVE OF CORES MISSING THEN IN" in [" ".join(line.split()) for line in out.split("\n")]
    told = json.loads(call_verb(capsys, *asked, "-o", "json")[1])
    (app,) = told["applications"]
    assert (app["fate"], app["missing"], app["before"]) == ("NoRoom", 4, app["after"])


def test_a_policy_and_a_drain_are_asked_about(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    for arguments in (("--apply", policy), ("--drain", "a")):
        code, out, _ = call_verb(capsys, "what-if", *arguments, "--from", file, "-o", "json")
        (app,) = json.loads(out)["applications"]
        assert (code, app["after"]) == (0, {"b": 4})


def test_a_template_beside_its_policy_is_left_out_and_that_is_said(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "both.yaml"
    both.write_text(f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: nginx}}\n---{POLICY}")
    code, out, err = call_verb(capsys, "what-if", "--apply", both, "--from", file, "-o", "json")
    (app,) = json.loads(out)["applications"]
    assert (code, app["after"]) == (0, {"b": 4})
    assert err == "--apply: left out, since only policies are imagined: Deployment nginx\n"


def test_what_no_policy_takes_along_is_listed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = decode_state(file.read_bytes())
    needs = TemplateNeeds(
        namespace="default",
        name="nginx-deployment",
        objects=(NeededObject(kind="ConfigMap", namespace="default", name="settings"),),
    )
    file.write_bytes(encode_state(FleetState(msgspec.structs.replace(state.recorded, needs=(needs,)))))
    wider = ("what-if", "--apply", file.parent / "policy.yaml", "--from", file)
    (file.parent / "policy.yaml").write_text(POLICY.replace("[b]", "[c]"))
    code, out, _ = call_verb(capsys, *wider)
    assert code == 0
    assert "  Deployment default/nginx  c        ConfigMap default/settings  by no policy" in out.split("\n")
    code, out, _ = call_verb(capsys, "what-if", "--fail", "a", "--from", file)
    assert "MISSING" not in out, "it is in b already"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing is asked: give --fail CLUSTER, --drain CLUSTER, --apply FILE or --scale TYPE/NAME=N"),
        (("--fail", "z"), "--fail 'z': there is no such cluster; choose from a, b, c"),
        (("--drain", "region=asia"), "--drain 'region=asia': no cluster is so; there is eu, us"),
        (("--fail", "size=big"), "--fail 'size=big': choose by region=, zone=, provider= or label:KEY="),
        (("--fail", "a", "--at", "soon"), "Invalid value for '--at': 'soon' is no duration"),
        (("--drain", "a", "--recover-after", "1h"), "--recover-after: nothing fails; give --fail CLUSTER"),
        (("--scale", "deploy/nginx"), "--scale 'deploy/nginx': write TYPE/NAME=REPLICAS, as in deploy/web=20"),
        (("--scale", "deploy/x=3"), "there is no binding of deploy/x in namespace default"),
        (("--apply", "/nowhere"), "/nowhere cannot be read: No such file"),
        (("--apply", os.devnull), f"{os.devnull} cannot be read: it holds no manifest; give a file of policies"),
    ],
)
def test_bad_input_names_the_field_and_the_way_out(
    arguments: tuple[str, ...], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_verb(capsys, "what-if", *arguments, "--from", file)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Pod", "--apply: a Pod is no policy; give PropagationPolicy or ClusterPropagationPolicy"),
        (POLICY.replace("Divided", "Shared"), "spec.placement.replicaScheduling.replicaSchedulingType"),
        ("- a", "give a file of policies"),
        (
            POLICY.replace("clusterAffinity", "clusterAffinty"),
            "--apply PropagationPolicy p: there is no field spec.placement.clusterAffinty; correct it, or take it out",
        ),
        (
            POLICY.replace("v1alpha1", "v1"),
            "PropagationPolicy p: its apiVersion is not policy.karmada.io/v1alpha1; correct it",
        ),
        (f"{POLICY}---\n{POLICY.replace('nPolicy', 'nPolcy')}", "--apply: a PropagationPolcy is no policy"),
        (f"{POLICY}---\n{{metadata: {{name: web}}}}", "--apply: a document without kind is no policy"),
    ],
)
def test_a_policy_that_would_be_refused_is_refused_here(
    text: str, said: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(text)
    code, _, err = call_verb(capsys, "what-if", "--apply", policy, "--from", file)
    assert (code, said in err) == (2, True), err


def test_a_cordon_that_keeps_something_out_is_named_with_what_it_would_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fleet.json"
    app = binding(divided({"a": 1, "b": 1}), 4, targets(a=4))
    path.write_bytes(encode_state(picture_of([cluster("a"), cluster("b", taints=(CORDON,))], [app])))
    code, out, _ = call_verb(capsys, "what-if", "--fail", "a", "--from", path)
    assert code == 1
    assert "WHAT WOULD HELP\n  uncordon b, then the application would fit\n      leeward uncordon b\n" in out


def test_a_loss_that_is_covered_and_leaves_a_cluster_full_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fleet.json"
    summary = ResourceSummary(allocatable={"cpu": "10", "pods": "100"}, allocated={"cpu": "8"})
    members = [cluster("a"), cluster("b")]
    full = [
        msgspec.structs.replace(m, status=msgspec.structs.replace(m.status, resource_summary=summary)) for m in members
    ]
    needs = ReplicaRequirements(resource_request={"cpu": "1"})
    app = binding(divided({"a": 1, "b": 1}), 2, targets(a=2), replica_requirements=needs)
    path.write_bytes(encode_state(picture_of(full, [app])))
    code, out, _ = call_verb(capsys, "resilience", "--from", path)
    assert code == 0
    assert "tight: b 100% full" in out
