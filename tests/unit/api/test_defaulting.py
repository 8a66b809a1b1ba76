"""Defaults of Karmada's kinds: stories, and what Karmada's own webhooks answered."""

import gzip
import json
from copy import deepcopy
from typing import Any, cast

import pytest

from kubeapi.meta import Manifest, parse_time
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from tests.oracle import DATA, Case, Difference, load, replay
from tests.unserved_kinds import UNSERVED, is_unserved

NOW = parse_time("2000-01-01T00:00:00Z")
SETTINGS = DefaultingSettings(NOW, lambda: "<uuid>")
AS_RECORDED = DefaultingSettings(
    NOW, lambda: "<uuid>", not_ready_toleration_seconds=-1, unreachable_toleration_seconds=-1
)


def policy(kind: str = "PropagationPolicy", **placement: Any) -> Manifest:
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"resourceSelectors": [selector], "placement": placement},
    }


def tolerations_of(manifest: Manifest, settings: DefaultingSettings = SETTINGS) -> list[Manifest]:
    return apply_defaults(manifest, settings)["spec"].get("placement", {}).get("clusterTolerations", [])


def test_a_policy_tolerates_dead_clusters_for_five_minutes() -> None:
    assert tolerations_of(policy()) == [
        {
            "key": "cluster.karmada.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
        {
            "key": "cluster.karmada.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
    ]


@pytest.mark.parametrize("effect", ["NoExecute", ""])
def test_a_policy_keeps_its_own_toleration(effect: str) -> None:
    own = {"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": effect, "tolerationSeconds": 5}
    given = tolerations_of(policy(clusterTolerations=[own]))
    assert [(t["key"], t["tolerationSeconds"]) for t in given] == [
        ("cluster.karmada.io/not-ready", 5),
        ("cluster.karmada.io/unreachable", 300),
    ]


def test_a_toleration_of_everything_is_not_cut_short() -> None:
    assert tolerations_of(policy(clusterTolerations=[{"operator": "Exists"}])) == [{"operator": "Exists"}]


def test_a_toleration_for_another_effect_does_not_count_as_its_own() -> None:
    own = {"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
    assert len(tolerations_of(policy(clusterTolerations=[own]))) == 3


def test_negative_seconds_switch_default_tolerations_off_one_by_one() -> None:
    settings = DefaultingSettings(NOW, lambda: "<uuid>", not_ready_toleration_seconds=-1)
    assert [t["key"] for t in tolerations_of(policy(), settings)] == ["cluster.karmada.io/unreachable"]


def test_defaulting_twice_changes_nothing_more() -> None:
    once = apply_defaults(policy(), SETTINGS)
    assert apply_defaults(once, SETTINGS, old=once) == once


def test_the_argument_is_never_changed() -> None:
    for given in (policy(), policy("ClusterPropagationPolicy"), policy("OverridePolicy"), WORK, CLUSTER):
        before = deepcopy(given)
        apply_defaults(given, SETTINGS)
        assert given == before


WORK: Manifest = {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "w"}, "spec": {}}
CLUSTER: Manifest = {
    "apiVersion": "cluster.karmada.io/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "member1"},
    "spec": {"syncMode": "Push", "zone": "z1", "taints": [{"key": "k", "effect": "NoExecute"}]},
}


def test_a_work_that_has_an_id_keeps_it() -> None:
    work = apply_defaults(WORK, SETTINGS)
    assert work["metadata"]["labels"] == {"work.karmada.io/permanent-id": "<uuid>"}
    assert apply_defaults(work, DefaultingSettings(NOW, lambda: "another")) is work


def test_a_cluster_gets_nine_grades_when_it_is_created_and_none_later() -> None:
    assert len(apply_defaults(CLUSTER, SETTINGS)["spec"]["resourceModels"]) == 9
    assert "resourceModels" not in apply_defaults(CLUSTER, SETTINGS, old=CLUSTER)["spec"]


@pytest.mark.parametrize("spec", [None, [], "text", {"placement": 3, "resourceSelectors": [None, "x"]}])
@pytest.mark.parametrize("kind", ["PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy"])
def test_a_malformed_policy_is_left_for_validation(kind: str, spec: object) -> None:
    apply_defaults({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "spec": spec}, SETTINGS)


def test_a_malformed_cluster_is_left_for_validation() -> None:
    for models in (["x"], [{"grade": "a"}], "x", [{"grade": 1, "ranges": None}]):
        apply_defaults(CLUSTER | {"spec": {"resourceModels": models, "taints": [1]}}, SETTINGS)


def test_other_kinds_are_left_alone() -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert apply_defaults(config_map, SETTINGS) is config_map


def mutating_cases() -> list[Case]:
    with gzip.open(DATA / "webhook.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Case(r["id"], r["handler"].removesuffix("/mutating"), "", r["in"], r["out"])
        for r in rows
        if r["handler"].endswith("/mutating")
    ]


def without_empty(value: Any) -> Any:
    """`value` without what Go prints of zero values, as `status: {}`."""
    match value:
        case dict():
            pruned = {key: without_empty(member) for key, member in cast(Manifest, value).items()}
            return {key: member for key, member in pruned.items() if member not in (None, {}, [], "")}
        case list():
            return [without_empty(member) for member in cast("list[Any]", value)]
        case _:
            return value


def unserved(case: Case) -> Difference | None:
    if case.op in UNSERVED:
        return Difference("a kind that Leeward does not have: it is not served, and left alone", is_left_alone)
    return None


def is_left_alone(case: Case, got: Any) -> None:
    assert is_unserved(case)
    assert got == without_empty(case.given["object"])


def defaulted(case: Case) -> Manifest:
    old: Manifest | None = {} if case.given["operation"] == "UPDATE" else None
    return comparable(case, apply_defaults(case.given["object"], AS_RECORDED, old))


def comparable(case: Case, manifest: Manifest) -> Manifest:
    """Manifest without what Go prints of zero values, and without Works' manifests: those are pruned elsewhere."""
    if case.op == "work":
        manifest = manifest | {"spec": {}}
    return without_empty(manifest)


def test_policies_bindings_and_works_are_defaulted_as_recorded() -> None:
    replay(
        mutating_cases(),
        defaulted,
        lambda case: comparable(case, case.expected.get("object", case.given["object"])),
        differs=unserved,
        at_least=400,
    )


def registered(case: Case) -> Manifest:
    old: Manifest | None = case.given.get("oldObject") if case.op == "update" else None
    settings = DefaultingSettings(parse_time(case.given["now"]), lambda: "<uuid>")
    return without_empty(apply_defaults(case.given["object"], settings, old)["spec"])


def test_clusters_are_defaulted_as_recorded() -> None:
    replay(
        [case for case in load("cluster_registry", "create", "update") if case.expected["allowed"]],
        registered,
        lambda case: without_empty(case.expected["object"]["spec"]),
        at_least=170,
    )
