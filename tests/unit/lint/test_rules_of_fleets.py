"""Rules that need a fleet: room, joined clusters, flags; and manifests that are looked at on one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.answers.decisions import fleet_of
from leeward.answers.fleet_state import FleetState, TemplateMetadata
from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import FOUND_WANTING, fates_of
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.policy import (
    Placement,
    PropagationPolicy,
    PropagationSpec,
    ReplicaSchedulingStrategy,
    ResourceSelector,
    SpreadConstraint,
)
from leeward.api.work import ReplicaRequirements, ResourceBinding
from leeward.core.placement.replacement import place_anew
from leeward.core.scheduling import Placed
from leeward.core.settings_in_force import SettingsInForce
from leeward.lint.checking import lint
from leeward.lint.files import read_manifests
from leeward.lint.findings import LintReport
from leeward.lint.picture import LintPicture, objects_of
from tests.builders import NOW, binding, cluster, divided, duplicated, targets
from tests.fleet_pictures import picture_of

DATA = Path(__file__).parents[2] / "data/lint"
NGINX = ResourceSelector(api_version="apps/v1", kind="Deployment", name="nginx")
BOTH = divided({"a": 1, "b": 1})


def roomy(name: str, pods: int, taints: tuple[Taint, ...] = (), **spec: Any) -> Cluster:
    """A cluster with room for so many more pods."""
    found = cluster(name, taints=taints, **spec)
    summary = ResourceSummary(allocatable={"cpu": "100", "pods": str(pods)})
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, resource_summary=summary))


def policy(placement: Placement, name: str = "nginx", selector: ResourceSelector = NGINX) -> PropagationPolicy:
    return PropagationPolicy(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=PropagationSpec(resource_selectors=(selector,), placement=placement),
    )


def fleet(
    clusters: Sequence[Cluster], *bindings: ResourceBinding, policies: Sequence[PropagationPolicy] = ()
) -> FleetState:
    """Fleet with the metadata of the Deployment that the bindings are for."""
    state = picture_of(clusters, bindings, policies=policies)
    nginx = TemplateMetadata(api_version="apps/v1", kind="Deployment", name="nginx", namespace="default")
    return FleetState(msgspec.structs.replace(state.recorded, templates=(nginx,) if bindings else ()))


def linted(state: FleetState) -> LintReport:
    return lint(LintPicture(objects_of(state), state, is_whole=True, contents=False), "fleet")


def rules_in(report: LintReport) -> list[str]:
    return [finding.rule for finding in report.findings]


def app(placement: Placement, replicas: int, **at: int) -> ResourceBinding:
    asked = ReplicaRequirements(resource_request={"cpu": "1"})
    return binding(placement, replicas, targets(**at), replica_requirements=asked)


AGGREGATED = msgspec.structs.replace(
    BOTH,
    replica_scheduling=ReplicaSchedulingStrategy(
        replica_scheduling_type="Divided", replica_division_preference="Aggregated"
    ),
)


@pytest.mark.parametrize(("room", "found"), [(1, ["LW006"]), (2, [])])
def test_what_would_find_no_room_elsewhere_is_told(room: int, found: list[str]) -> None:
    state = fleet([roomy("a", 10), roomy("b", room)], app(AGGREGATED, 2, a=2), policies=[policy(AGGREGATED)])
    report = linted(state)
    assert rules_in(report) == found
    if found:
        assert report.findings[0].sentence == (
            "If cluster a is lost, 2 replicas of Deployment default/nginx cannot move. "
            "The policy allows a and b only, and b has too little free capacity."
        )


def test_what_goes_everywhere_and_what_has_one_cluster_is_not_for_want_of_room() -> None:
    everywhere, alone = duplicated("a", "b"), divided({"a": 1})
    there = app(everywhere, 2, a=2, b=2)
    assert rules_in(linted(fleet([roomy("a", 9), roomy("b", 0)], there, policies=[policy(everywhere)]))) == []
    state = fleet([roomy("a", 9), roomy("b", 0)], app(alone, 2, a=2), policies=[policy(alone)])
    assert rules_in(linted(state)) == ["LW003"]


def test_what_finds_no_place_now_is_told() -> None:
    state = fleet([roomy("a", 1), roomy("b", 1)], app(AGGREGATED, 5), policies=[policy(AGGREGATED)])
    report = linted(state)
    assert rules_in(report) == ["LW006"]
    why = "The policy allows a and b only, and a and b have too little free capacity."
    assert report.findings[0].sentence == f"Deployment default/nginx fits in no cluster now: {why}"


def test_a_cluster_that_does_not_take_it_is_no_second_place() -> None:
    """The cluster offers no Deployments, or keeps them out by a taint."""
    without = roomy("b", 9)
    without = msgspec.structs.replace(without, status=msgspec.structs.replace(without.status, api_enablements=()))
    tainted = roomy("b", 9, taints=(Taint(key="team", effect="NoSchedule"),))
    for other, why in ((without, "b does not serve the kind Deployment"), (tainted, "b has the taint team")):
        report = linted(fleet([roomy("a", 9), other], app(BOTH, 2, a=2), policies=[policy(BOTH)]))
        assert rules_in(report) == ["LW006"]
        assert why in report.findings[0].sentence


def linted_on(state: FleetState, file: str, *, is_whole: bool = False) -> LintReport:
    read = read_manifests([str(DATA / file)], b"", "default")
    present = [each.unasked() for each in objects_of(state)]
    return lint(LintPicture([*present, *read.objects], state, is_whole=is_whole), "files")


def test_what_has_no_replicas_needs_a_cluster_that_knows_its_kind() -> None:
    """The application is that of LW012-near-everywhere.yaml, which is for the clusters a and b."""
    report = linted_on(fleet([roomy("a", 9), roomy("b", 9)]), "LW012-near-everywhere.yaml")
    assert [(finding.rule, finding.about) for finding in report.findings] == [("LW006", "Thing shop/one")]
    assert "a and b do not serve the kind Thing" in report.findings[0].sentence


def test_a_gate_that_is_on_is_no_finding() -> None:
    recorded = fleet([roomy("a", 9), roomy("b", 9)]).recorded
    settings = SettingsInForce(told=True, workload_affinity=True)
    report = linted_on(FleetState(msgspec.structs.replace(recorded, settings=settings)), "LW007.yaml")
    assert [finding.field for finding in report.findings] == ["spec.preemption"]
    both = msgspec.structs.replace(settings, gates=("PropagationPolicyPreemption",))
    assert linted_on(FleetState(msgspec.structs.replace(recorded, settings=both)), "LW007.yaml").findings == []


def test_what_a_control_plane_does_not_have_is_made_otherwise_in_its_members() -> None:
    state = fleet([roomy("a", 9), roomy("b", 9)])
    assert rules_in(linted_on(state, "LW009-not-here.yaml")) == ["LW009"]
    assert rules_in(linted_on(state, "LW009-not-here.yaml", is_whole=True)) == []


@pytest.mark.parametrize(("activation", "found"), [("", ["LW015"]), ("Lazy", [])])
def test_a_lazy_policy_has_not_begun_to_select(activation: Literal["", "Lazy"], found: list[str]) -> None:
    jobs = policy(BOTH, "jobs", ResourceSelector(api_version="batch/v1", kind="Job"))
    jobs = msgspec.structs.replace(jobs, spec=msgspec.structs.replace(jobs.spec, activation_preference=activation))
    assert rules_in(linted(fleet([roomy("a", 9), roomy("b", 9)], policies=[jobs]))) == found


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ("a", "gone"),
            "if a is lost, the policy's applications cannot move; the policy also names gone, which has not joined",
        ),
        (
            ("gone",),
            "nothing that it selects is placed; the policy also names gone, which has not joined",
        ),
        (("membr1",), "is placed; the policy also names membr1, which has not joined (is member1 meant?)"),
    ],
)
def test_clusters_that_have_not_joined_are_no_second_place(names: tuple[str, ...], sentence: str) -> None:
    placement = divided(dict.fromkeys(names, 1))
    clusters = [roomy(name, 9) for name in ("a", "b", "member1")]
    report = linted(fleet(clusters, app(placement, 1, a=1), policies=[policy(placement)]))
    assert "LW003" in rules_in(report)
    assert sentence in next(finding.sentence for finding in report.findings if finding.rule == "LW003")


def test_a_region_that_holds_the_constraint_alone_is_named() -> None:
    clusters = [roomy("e1", 9, region="eu"), roomy("e2", 9, region="eu"), roomy("u1", 9, region="us")]
    spread = msgspec.convert(
        {"spreadConstraints": [{"spreadByField": "region", "minGroups": 2, "maxGroups": 2}]}, Placement
    )
    placement = msgspec.structs.replace(AGGREGATED, cluster_affinity=None, spread_constraints=spread.spread_constraints)
    report = linted(fleet(clusters, app(placement, 2, e1=1, u1=1), policies=[policy(placement)]))
    assert rules_in(report) == ["LW004"]
    assert "asks for at least 2 regions: if u1 is lost, the other clusters are too few" in report.findings[0].sentence
    more = linted(
        fleet([*clusters, roomy("u2", 9, region="us")], app(placement, 2, e1=1), policies=[policy(placement)])
    )
    assert rules_in(more) == []
    less = linted(fleet(clusters[:2], app(placement, 2, e1=1), policies=[policy(placement)]))
    assert "asks for more than 2 clusters can give it" in less.findings[0].sentence


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"no_execute": False}, "a cluster that is down gets no NoExecute taint, and nothing leaves it"),
        ({"evictions_per_second": 0}, "one application in half an hour leaves clusters that are down"),
        ({"told": False, "no_execute": False}, ""),
        ({}, ""),
    ],
)
def test_flags_that_keep_a_failover_from_happening_are_told(changed: dict[str, Any], sentence: str) -> None:
    recorded = fleet([roomy("a", 9)]).recorded
    settings = msgspec.structs.replace(SettingsInForce(told=True), **changed)
    report = linted(FleetState(msgspec.structs.replace(recorded, settings=settings)))
    assert [(finding.rule, finding.about) for finding in report.findings] == ([("LW007", "test")] if sentence else [])
    assert [finding.sentence for finding in report.findings] == ([sentence] if sentence else [])


@pytest.mark.parametrize(
    ("switched", "sentence"),
    [
        ({"evict": False}, "NoExecute taints evict nothing"),
        ({"graceful": False}, "an old copy is deleted before its replacement is healthy"),
    ],
)
def test_the_scheduler_says_what_it_leaves_undone(switched: dict[str, bool], sentence: str) -> None:
    recorded = fleet([roomy("a", 9)]).recorded
    settings = SettingsInForce(told=True)
    settings = msgspec.structs.replace(settings, placement=replace(settings.placement, **switched))
    report = linted(FleetState(msgspec.structs.replace(recorded, settings=settings)))
    assert [finding.sentence for finding in report.findings] == [sentence]


def test_a_policy_of_a_control_plane_that_selects_nothing_is_told() -> None:
    other = ResourceSelector(api_version="apps/v1", kind="Deployment", name="gone")
    policies = [policy(BOTH), policy(BOTH, "other", other), policy(BOTH, "jobs", ResourceSelector("batch/v1", "Job"))]
    report = linted(fleet([roomy("a", 9), roomy("b", 9)], app(BOTH, 2, a=1, b=1), policies=policies))
    assert [(finding.rule, finding.about) for finding in report.findings] == [
        ("LW015", "PropagationPolicy default/jobs"),
        ("LW015", "PropagationPolicy default/other"),
    ]


def test_one_cluster_with_two_names_is_told() -> None:
    report = linted(fleet([roomy("a", 9, id="x"), roomy("b", 9, id="x"), roomy("c", 9, id="y")]))
    assert [(finding.rule, finding.about) for finding in report.findings] == [("LW014", "Cluster b")]
    assert "this cluster has joined already, as a" in report.findings[0].sentence


def test_of_a_picture_rules_that_need_contents_are_not_asked_and_that_is_said() -> None:
    unasked = linted(fleet([roomy("a", 9)])).unasked
    assert [each.rule for each in unasked if each.in_part] == ["LW005", "LW007", "LW022"]
    whole = {each.rule: each.why for each in unasked if not each.in_part}
    assert [*whole] == ["LW001", "LW009", "LW010", "LW012", "LW018", "LW020", "LW025"]
    assert whole.pop("LW018") == "needs override policies and quotas"
    assert set(whole.values()) == {"needs the contents of manifests"}
    assert unasked[1].why == "sees only the claims of StatefulSets without the contents of manifests"


def test_of_files_on_a_fleet_only_the_files_are_told_about() -> None:
    """The policy of the fleet tolerates for ever, and nobody has asked about it."""
    tolerant = msgspec.convert({"clusterTolerations": [{"operator": "Exists"}]}, Placement).cluster_tolerations
    placement = msgspec.structs.replace(BOTH, cluster_tolerations=tolerant)
    state = fleet([roomy("a", 9), roomy("b", 9)], app(placement, 2, a=1, b=1), policies=[policy(placement)])
    assert rules_in(linted(state)) == ["LW002"]
    read = read_manifests([str(DATA / "LW011.yaml")], b"", "default")
    present = [each.unasked() for each in objects_of(state)]
    report = lint(LintPicture([*present, *read.objects], state, is_whole=False), "files")
    assert (rules_in(report), report.objects) == (["LW011"], 2)


SPREAD = msgspec.structs.replace(
    AGGREGATED,
    spread_constraints=(SpreadConstraint(spread_by_field="cluster", min_groups=2, max_groups=2),),
    cluster_affinity=None,
)
PLACEMENTS = {
    "weights": divided({"a": 1, "b": 1}),
    "aggregated": AGGREGATED,
    "spread": SPREAD,
    "one": divided({"a": 1}),
    "one-of": duplicated("a", "b", groups=1),
    "everywhere": duplicated("a", "b"),
}


def test_what_is_told_of_a_placement_is_what_would_happen() -> None:
    """Each loss is put to `what-if` on the same picture: lint warns of those of which an application is missed."""
    warned = silent = 0
    rooms = [(room_a, room_b, room_c) for room_a in (3, 9) for room_b in (0, 1, 3) for room_c in (None, 0, 3)]
    for placement, replicas, room in product(PLACEMENTS.values(), (1, 3), rooms):
        clusters = [roomy(name, pods) for name, pods in zip("abc", room, strict=True) if pods is not None]
        nowhere = app(placement, replicas)
        placed = place_anew(nowhere, nowhere.spec, fleet_of(fleet(clusters)), NOW)
        if not isinstance(placed, Placed):
            continue
        spec = msgspec.structs.replace(nowhere.spec, clusters=placed.clusters)
        state = fleet(clusters, msgspec.structs.replace(nowhere, spec=spec), policies=[policy(placement)])
        lost = [fates_of(state, ImaginedChange(fails=frozenset({target.name})))[0] for target in placed.clusters]
        is_missed = any(fate.fate in FOUND_WANTING for fates in lost for fate in fates)
        found = rules_in(linted(state))
        assert bool(found) == is_missed, (placement, replicas, room, found, lost)
        warned, silent = warned + is_missed, silent + (not is_missed)
    assert warned > 50
    assert silent > 50


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (
            "{name: canary, clusterSelector: {matchLabels: {tier: canary}}}",
            ("matches no cluster that is left", "leave out a, b"),
        ),
        ("{name: canary, clusterSelector: {matchLabels: {tier: live}}}", ("leave out b",)),
        ("{name: canary, clusters: [c]}, {name: rest}", ("names c, which has not joined",)),
        ("{name: canary, clusterSelector: {matchLabels: {tier: live}}}, {name: rest}", ()),
    ],
)
def test_stages_are_judged_by_the_labels_of_the_clusters_that_there_are(stages: str, said: tuple[str, ...]) -> None:
    clusters = [roomy("a", 9), roomy("b", 9)]
    labelled = msgspec.structs.replace(clusters[0].metadata, labels={"tier": "live"})
    clusters[0] = msgspec.structs.replace(clusters[0], metadata=labelled)
    wanted = policy(Placement())
    marked = msgspec.structs.replace(wanted.metadata, annotations={"leeward.dev/rollout": f"{{stages: [{stages}]}}"})
    report = linted(fleet(clusters, policies=[msgspec.structs.replace(wanted, metadata=marked)]))
    found = [finding.sentence for finding in report.findings if finding.rule == "LW024"]
    assert len(found) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found, strict=True))
