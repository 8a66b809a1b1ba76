"""The real kubectl on a fleet of processes, where controllers run: the transcripts in `transcripts/fleet`."""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet
from tests.processes.transcripts import parse, play
from tests.yaml_readers import READERS

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts" / "fleet").glob("*.txt"))
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2=pull") as running:
        yield running


@pytest.fixture
def environment(fleet: Fleet, tmp_path: Path) -> dict[str, str]:
    server = fleet.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    return {
        "KUBECONFIG": str(fleet.kubeconfig),
        "KUBECACHEDIR": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "SERVER": server,
        "CLUSTERS": CLUSTERS,
        "PATH": os.environ["PATH"],
    }


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_kubectl_does_and_says_what_the_transcript_has(
    environment: dict[str, str], tmp_path: Path, transcript: Path
) -> None:
    play(parse(transcript.read_text()), tmp_path, environment)


SETTINGS = """\
region: eu # read at start
commit: "12345e7"
zip: "08"
matchType: =
"""


def test_a_target_reads_the_configuration_that_was_written_but_for_what_an_override_names(fleet: Fleet) -> None:
    """`commit` and `zip` keep their quotes, as with Karmada 1.16: a program in Go would read numbers otherwise."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a.yaml": SETTINGS}}
    selectors = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}]
    change = {"subPath": "/region", "operator": "replace", "value": "us"}
    overriders = {"fieldOverrider": [{"fieldPath": "/data/a.yaml", "yaml": [change]}]}
    policies: list[tuple[str, dict[str, Any]]] = [
        ("OverridePolicy", {"resourceSelectors": selectors, "overrideRules": [{"overriders": overriders}]}),
        ("PropagationPolicy", {"resourceSelectors": selectors, "placement": {}}),
    ]
    for kind, spec in policies:
        wanted = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": {"name": "settings"}}
        fleet.kubectl("create", "-f", "-", stdin=json.dumps({**wanted, "spec": spec}))
    fleet.kubectl("create", "-f", "-", stdin=json.dumps(config))
    fleet.eventually(lambda: fleet.exists("configmap", "settings", context="member1"), "the copy is there")
    copied = fleet.get("configmap", "settings", context="member1")["data"]["a.yaml"]
    assert copied == SETTINGS.replace("region: eu", "region: us")
    for read in READERS.values():
        assert read(copied) == {**read(SETTINGS), "region": "us"}
    fleet.kubectl("delete", "configmap/settings", "overridepolicy/settings", "propagationpolicy/settings")


def test_a_member_that_hangs_or_is_gone_is_named_and_delays_no_other(fleet: Fleet) -> None:
    fleet.leeward("member", "stop", "member2")
    refused = fleet.kubectl("get", "--raw", f"{CLUSTERS}/member2/proxy/version", fails=True)
    assert "cluster member2 cannot be reached" in refused
    assert fleet.kubectl("get", "--raw", f"{CLUSTERS}/member1/proxy/readyz") == "ok"
