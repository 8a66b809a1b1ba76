"""Findings of what is wrong with a fleet, in sentences: a pure function of what was seen."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

import leeward.core
from kubeapi.codec import from_wire
from kubeapi.core import Lease
from leeward.answers.cluster_explanation import explain_cluster
from leeward.answers.fleet_state import FleetState
from leeward.answers.fleet_story import SeenRows, fleet_story
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import NOT_SEEN_SINCE, lease_of_agent
from leeward.api.work import AggregatedStatusItem, ResourceBinding
from leeward.core.cluster_health.brake import Brake
from leeward.core.eviction import application, blocked_evictions
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement.cause import cause_in
from leeward.operations.brake import BrakeReading
from leeward.operations.clusters import ClusterState, cluster_row, unreadable_row
from leeward.operations.findings import HOLDS, Finding, Hold, Observed, Severity, hold_of
from leeward.operations.status import findings_of
from tests.fleet_pictures import picture_of

PAGE = Path(__file__).parents[3] / "docs" / "observability.md"
NOW = datetime(2026, 11, 22, 2, 41, 17, tzinfo=UTC)
DRAIN = {"key": "leeward.dev/drain", "effect": "NoExecute", "timeAdded": "2026-11-22T02:31:17Z"}
NO_EXECUTE = {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-11-22T02:35:17Z"}


def condition(kind: str, status: str, reason: str, message: str = "", at: str = "2026-11-22T02:30:17Z") -> Any:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def cluster(name: str, *conditions: Any, taints: tuple[Any, ...] = (), **status: Any) -> Cluster:
    body: dict[str, Any] = {
        "metadata": {"name": name, "creationTimestamp": "2026-11-22T02:00:00Z"},
        "spec": {"syncMode": "Push", "taints": list(taints)},
        "status": {"conditions": list(conditions), **status},
    }
    return from_wire(body, Cluster)


def ready(name: str, **more: Any) -> Cluster:
    return cluster(name, condition("Ready", "True", "ClusterReady"), **more)


def dead(name: str, status: str = "False", reason: str = "ClusterNotReachable", **more: Any) -> Cluster:
    return cluster(name, condition("Ready", status, reason, "connection refused"), **more)


def binding(name: str, *clusters: str, held: str = "", leaving: str = "", **spec: Any) -> ResourceBinding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "payments", "name": name}
    tasks = [{"fromCluster": leaving, "reason": "TaintUntolerated", "producer": "TaintManager"}] if leaving else []
    body: dict[str, Any] = {
        "metadata": {"name": f"{name}-deployment", "namespace": "payments"},
        "spec": {
            "resource": resource,
            "replicas": 2,
            "clusters": [{"name": target, "replicas": 2} for target in clusters],
            "gracefulEvictionTasks": tasks,
            **spec,
        },
        "status": {"conditions": [condition("leeward.dev/EvictionHeld", "True", held, "why")] if held else []},
    }
    return from_wire(body, ResourceBinding)


def observed(*clusters: Cluster, bindings: tuple[ResourceBinding, ...] = (), **more: Any) -> Observed:
    rows = tuple(cluster_row(each, bindings) for each in clusters)
    return Observed(NOW, clusters, rows, bindings, **more)


def told(seen: Observed) -> list[tuple[Severity, str]]:
    return [(finding.severity, finding.sentence) for finding in findings_of(seen)]


def only(seen: Observed) -> Finding:
    (finding,) = findings_of(seen)
    return finding


def test_a_fleet_that_is_well_has_no_findings() -> None:
    assert findings_of(observed(ready("a"), ready("b"), bindings=(binding("web", "a"),))) == []


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (dead("fra-2"), "fra-2 is down (since 02:30:17, 11 min ago): connection refused"),
        (
            dead("fra-2", "Unknown", "ClusterStatusUnknown"),
            "fra-2 is down (since 02:30:17, 11 min ago): connection",
        ),
        (dead("fra-2", reason="StatusCollectionFailed"), "fra-2 cannot be observed (since 02:30:17, 11 min ago): c"),
        (
            ready("fra-2", nodeSummary={"totalNum": 3, "readyNum": 0}),
            "fra-2 answers, and none of its 3 nodes is ready",
        ),
        (cluster("fra-2"), "fra-2 has joined, and has never reported (since 02:00:00, 41 min ago)"),
    ],
)
def test_a_cluster_that_is_lost_needs_somebody(seen: Cluster, says: str) -> None:
    finding = only(observed(seen, ready("a")))
    assert finding.sentence.startswith(says)
    assert (finding.severity, finding.about) == (Severity.NEEDS_SOMEBODY, "cluster/fra-2")
    assert finding.next == "leeward explain cluster/fra-2"


def test_a_dead_cluster_says_what_becomes_of_its_applications() -> None:
    tolerant = {"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": 600}]}
    forever = {"clusterTolerations": [{"operator": "Exists"}]}
    there = (
        binding("a", leaving="fra-2"),
        binding("b", "fra-2", placement=tolerant),
        binding("c", "fra-2", placement=forever),
        binding("d", "fra-2", held="NothingToGain"),
        binding("e", "fra-2", held="WaitingForTurn"),
        binding("f", "elsewhere"),
    )
    seen = observed(dead("fra-2", taints=(NO_EXECUTE,)), ready("elsewhere"), bindings=there)
    (finding,) = (each for each in findings_of(seen) if each.about == "cluster/fra-2")
    assert finding.details == (
        "5 applications: 1 is moving, 1 leaves at 02:45:17 (in 4 min), 1 has no planned eviction, "
        "1 stays on purpose, 1 waits to leave",
    )


def test_an_application_is_due_later_by_the_time_that_nobody_watched() -> None:
    """Same count as that of the scheduler and of `leeward explain`."""
    heartbeat = lease_of("leeward-heartbeat", "controllers", 1)
    gap = {"leeward.dev/unwatched": "2026-11-22T02:36:00Z/2026-11-22T02:38:00Z"}
    heartbeat = msgspec.structs.replace(
        heartbeat, metadata=msgspec.structs.replace(heartbeat.metadata, annotations=gap)
    )
    tolerant = binding(
        "b", "fra-2", placement={"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": 600}]}
    )
    seen = observed(dead("fra-2", taints=(NO_EXECUTE,)), bindings=(tolerant,), leases=(heartbeat,))
    (finding,) = (each for each in findings_of(seen) if each.about == "cluster/fra-2")
    assert finding.details == ("1 application leaves at 02:47:17 (in 6 min)",)


def test_an_application_is_due_when_its_own_mark_says_so_before_its_cluster_has_the_taint() -> None:
    """Same instant as that of `leeward explain` and the timeline."""
    mark = AggregatedStatusItem(cluster_name="fra-2", status={"leeward.dev/leavesAt": "2026-11-22T02:45:17Z"})
    moving, rest = binding("a", "fra-2"), binding("b", "fra-2")
    marked = msgspec.structs.replace(moving, status=msgspec.structs.replace(moving.status, aggregated_status=(mark,)))
    found = findings_of(observed(dead("fra-2"), bindings=(marked, rest)))
    (finding,) = (each for each in found if each.about == "cluster/fra-2")
    assert finding.details == ("2 applications: 1 leaves at 02:45:17 (in 4 min), 1 has no planned eviction",)


def test_the_brake_holds_what_is_in_a_dead_cluster_and_is_not_due_yet() -> None:
    """The Outage counts them so."""
    forever = {"clusterTolerations": [{"operator": "Exists"}]}
    there = (binding("a", "fra-2"), binding("b", "fra-2", placement=forever), binding("c", leaving="fra-2"))
    engaged = BrakeReading(Brake(NOW - timedelta(seconds=28)), "4 of 4 clusters seem to be down")
    for brake, what in (
        (engaged, "1 is moving, 1 cannot move, 1 has no planned eviction"),
        (None, "1 is moving, 2 have no planned eviction"),
    ):
        found = findings_of(observed(dead("fra-2"), bindings=there, brake=brake))
        (lost,) = (each for each in found if each.about == "cluster/fra-2")
        assert lost.details == (f"3 applications: {what}",)


def test_every_reason_of_a_held_eviction_has_a_meaning_and_stands_on_the_page() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (held|stays|waiting) \|", PAGE.read_text(), re.MULTILINE)
    documented = {
        reason: Hold("kept" if hold == "stays" else hold) for row, hold in rows for reason in re.findall(r"\w+", row)
    }
    assert set(HOLDS) == set(HeldReason)
    assert documented == HOLDS


def test_no_other_reason_is_written_for_a_held_eviction() -> None:
    """The only places in core that make the condition take the reason from the closed set."""
    core = Path(leeward.core.__file__).parent
    makers = [path.name for path in sorted(core.rglob("*.py")) if "type=EVICTION_HELD_CONDITION" in path.read_text()]
    assert makers == ["application.py", "blocked_evictions.py"]
    for maker in (application._held, blocked_evictions._held):  # pyright: ignore[reportPrivateUsage]
        assert get_type_hints(maker)["reason"] is HeldReason


@pytest.mark.parametrize(
    ("reason", "hold"),
    [
        ("NoPlaceToGo", Hold.HELD),
        ("NotConfirmed", Hold.HELD),
        ("BrakeEngaged", Hold.HELD),
        ("ReplacementMissing", Hold.HELD),
        ("WaitingForPurge", Hold.HELD),
        ("StateNotPreserved", Hold.HELD),
        ("SomethingThatIsYetToCome", Hold.HELD),
        ("NothingToGain", Hold.KEPT),
        ("SharedResource", Hold.KEPT),
        ("DeletionSuppressed", Hold.KEPT),
        ("WaitingForTurn", Hold.WAITING),
    ],
)
def test_only_what_is_held_needs_somebody_and_what_is_kept_does_not(reason: str, hold: Hold) -> None:
    web = binding("web", "a", held=reason)
    found = hold_of(web)
    assert found is not None
    assert found[0] is hold
    findings = findings_of(observed(ready("a"), bindings=(web,)))
    assert [finding.sentence for finding in findings] == (
        [f"Deployment payments/web cannot move ({reason}, since 02:30:17, 11 min ago): {cause_in(reason, 'why')}"]
        if hold is Hold.HELD
        else []
    )
    if findings:
        assert findings[0].next == "leeward explain deployment/web -n payments"


def test_clusters_that_bindings_name_and_nobody_lists_are_told_of() -> None:
    there = (binding("a", "fra-1", "fra-2"), binding("b", "fra-2"), binding("c", "ams-1"))
    seen = observed(ready("ams-1"), bindings=there)
    assert only(seen).sentence == "2 clusters that 2 bindings name cannot be found: fra-1, fra-2"
    assert findings_of(Observed(NOW, None, bindings=there)) == [], "what could not be seen is not gone"


def test_a_reason_is_told_once_with_the_applications_that_share_it() -> None:
    held = tuple(binding(f"web-{index}", "a", held="NoPlaceToGo") for index in range(12))
    other = binding("api", "a", held="BrakeEngaged")
    shared, alone = findings_of(observed(ready("a"), bindings=(other, *held)))
    assert shared.sentence == "12 resources cannot move (NoPlaceToGo, since 02:30:17, 11 min ago): why"
    assert shared.details[0].startswith("Deployment payments/web-0, Deployment payments/web-1, ")
    assert shared.details[0].endswith("Deployment payments/web-9, and 2 more")
    assert shared.next == "leeward explain deployment/web-0 -n payments"
    assert alone.sentence.startswith("Deployment payments/api cannot move (BrakeEngaged, since")
    assert alone.details == ()


def test_who_serves_nobody_comes_first_then_who_serves_with_fewer() -> None:
    """A copy in a cluster that is not seen serves nobody, and one that only starts is not told of."""
    lost = item("a", status={"readyReplicas": 2, **UNSEEN})
    well = item("b", "Healthy", status={"readyReplicas": 2})
    held = condition("leeward.dev/EvictionHeld", "True", "NoPlaceToGo", "why")
    nobody = named("ledger", reported(lost, {**lost, "clusterName": "b"}), held)
    fewer = named("shop", reported(lost, well), held)
    starts = named("new", reported(item("a"), item("b"), at="2026-11-22T02:41:00Z"))
    whole = named("web", reported(well, {**well, "clusterName": "a"}))
    draining = ready("c", taints=(DRAIN,))
    brake = BrakeReading(Brake(NOW - timedelta(seconds=28)), "1 of 1 clusters seems to be down")
    there = (whole, starts, fewer, nobody, binding("last", "c"))
    found = findings_of(observed(draining, dead("a"), ready("b"), bindings=there, brake=brake))
    assert [(each.about, each.sentence) for each in found[:2]] == [
        ("applications", "1 of 5 applications is down"),
        ("applications", "1 of 5 applications serves with fewer replicas than wanted"),
    ]
    assert found[0].details == (
        "Deployment payments/ledger, 0 of 4 ready: `leeward explain deployment/ledger -n payments`",
    )
    assert found[1].details == (
        "Deployment payments/shop, 2 of 4 ready: `leeward explain deployment/shop -n payments`",
    )
    order = [each.about.partition("/")[0] for each in found[2:]]
    assert order == ["brake", "bindings", "cluster", "cluster"], "what is held, who is lost, and what comes last"


def test_an_outage_has_one_beginning_in_every_answer() -> None:
    """`Ready` turns with the threshold, and the condition LastSeen has the first probe that failed."""
    seen_last = condition("leeward.dev/LastSeen", "False", "ClusterNotReachable", at="2026-11-22T02:29:47Z")
    turned = condition("Ready", "False", "ClusterNotReachable", "connection refused")
    lost = cluster("fra-2", turned, seen_last)
    assert only(observed(lost)).sentence == "fra-2 is down (since 02:29:47, 12 min ago): connection refused"
    state = FleetState(msgspec.structs.replace(picture_of([lost], ()).recorded, as_of=NOW))
    rows = SeenRows([cluster_row(lost, ())], {}, 0, 0)
    assert fleet_story(state, rows).headline == "fra-2 has been down for 12 min"
    assert (
        explain_cluster(state, "fra-2").headline == "fra-2: Not ready (since 02:29:47, 12 min ago): connection refused"
    )


@pytest.mark.parametrize(("pods", "told"), [("4", True), ("2", False)])
def test_replicas_that_wait_for_a_node_are_missed_and_do_not_only_start(pods: str, told: bool) -> None:
    room = {"allocatable": {"cpu": "4"}, "allocated": {"cpu": "2"}, "allocating": {"cpu": pods}}
    short = named("web", reported(item("a", status={"readyReplicas": 1}), item("b", status={"readyReplicas": 2})))
    found = findings_of(observed(ready("a", resourceSummary=room), ready("b"), bindings=(short,)))
    assert [each.details for each in found] == [
        ("Deployment payments/web, 3 of 4 ready: `leeward explain deployment/web -n payments`",)
    ][: int(told)]


def test_what_has_nowhere_to_run_is_named() -> None:
    web = binding("web")
    unplaced = {"conditions": [condition("Scheduled", "False", "NoClusterFit", "0/3 clusters are available")]}
    seen = from_wire({"metadata": {"name": "web-deployment", "namespace": "payments"}, "spec": {"resource": {
        "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "payments", "name": "web"}}, "status": unplaced},
        ResourceBinding,
    )  # fmt: skip
    assert findings_of(observed(ready("a"), bindings=(web,))) == []
    assert only(observed(ready("a"), bindings=(seen,))).sentence == (
        "Deployment payments/web is not placed (NoClusterFit, since 02:30:17, 11 min ago): 0/3 clusters are available"
    )


def test_what_was_taken_out_and_is_still_there_is_named() -> None:
    web = binding("web", "a")
    status = msgspec.structs.replace(
        web.status,
        conditions=(
            from_wire(condition("leeward.dev/RemovalBlocked", "True", "ForeignFinalizers", "in b: x/y"), Condition),
        ),
    )
    assert only(observed(ready("a"), bindings=(msgspec.structs.replace(web, status=status),))).sentence == (
        "Deployment payments/web still has an old copy (ForeignFinalizers, since 02:30:17, 11 min ago): in b: x/y"
    )


def test_what_cannot_be_overridden_is_told_with_the_reason() -> None:
    web = binding("web", "a")
    failed = condition("leeward.dev/OverrideFailed", "True", "ApplyOverridePolicyFailed", "Left as it is in a: why")
    status = msgspec.structs.replace(web.status, conditions=(from_wire(failed, Condition),))
    assert only(observed(ready("a"), bindings=(msgspec.structs.replace(web, status=status),))).sentence == (
        "Deployment payments/web is not overridden (ApplyOverridePolicyFailed, since 02:30:17, 11 min ago): "
        "Left as it is in a: why"
    )


FOREIGN = "Deployment payments/web: it exists in cluster a and is not managed by this Work; remove it there"


def reported(*items: Any, applied: str = "True", at: str = "2026-11-22T02:30:17Z", kind: str = "") -> ResourceBinding:
    """`web`, placed in a and b, of which they say `items`."""
    web = binding("web", "a", "b")
    said = {"conditions": [condition("FullyApplied", applied, "Test", at=at)], "aggregatedStatus": list(items)}
    spec = msgspec.structs.replace(
        web.spec, resource=msgspec.structs.replace(web.spec.resource, kind=kind or "Deployment")
    )
    return msgspec.structs.replace(web, spec=spec, status=from_wire(said, type(web.status)))


def item(name: str, health: str = "Unhealthy", **more: Any) -> dict[str, Any]:
    return {"clusterName": name, "applied": True, "health": health, "status": {"replicas": 2}, **more}


def named(name: str, web: ResourceBinding, *conditions: Any) -> ResourceBinding:
    """The binding under another name, with these conditions beside its own."""
    resource = msgspec.structs.replace(web.spec.resource, name=name)
    more = (*web.status.conditions, *(from_wire(each, Condition) for each in conditions))
    return msgspec.structs.replace(
        web,
        metadata=msgspec.structs.replace(web.metadata, name=f"{name}-deployment"),
        spec=msgspec.structs.replace(web.spec, resource=resource),
        status=msgspec.structs.replace(web.status, conditions=more),
    )


def told_of_itself(web: ResourceBinding) -> list[Finding]:
    """Findings about an application, without the count of those that do not serve."""
    found = findings_of(observed(ready("a"), ready("b"), bindings=(web,)))
    return [each for each in found if each.about != "applications"]


UNSEEN = {NOT_SEEN_SINCE: "2026-11-22T02:00:00Z"}
REFUSED = item("b", "Unknown", applied=False, appliedMessage=FOREIGN)


@pytest.mark.parametrize(
    ("refused", "at", "severity"),
    [
        (REFUSED, "2026-11-22T02:30:17Z", Severity.NEEDS_SOMEBODY),
        (REFUSED, "2026-11-22T02:41:00Z", Severity.SOON),
        ({**REFUSED, "appliedMessage": ""}, "2026-11-22T02:30:17Z", None),
        ({**REFUSED, "status": UNSEEN}, "2026-11-22T02:30:17Z", None),
        ({**REFUSED, "clusterName": "elsewhere"}, "2026-11-22T02:30:17Z", None),
    ],
)
def test_what_a_member_refuses_is_told_with_the_way_out(refused: Any, at: str, severity: Severity | None) -> None:
    web = reported(item("a", "Healthy"), refused, applied="False", at=at)
    found = told_of_itself(web)
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    for each in found:
        assert each.sentence.startswith("Deployment payments/web is not applied (AppliedFailed, since ")
        assert each.sentence.endswith(f": in b: {FOREIGN}")
        assert each.next == "leeward explain deployment/web -n payments"


NONE_READY = {"numberReady": 0}
LATE = {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}


@pytest.mark.parametrize(
    ("web", "severity"),
    [
        (reported(item("a"), item("b")), Severity.SOON),
        (reported(item("a"), item("b", status=LATE)), Severity.NEEDS_SOMEBODY),
        (reported(item("a"), item("b"), at="2026-11-22T02:36:18Z"), None),
        (reported(item("a"), item("b"), applied="False"), None),
        (reported(item("a"), item("b", status={"readyReplicas": 1})), None),
        (reported(item("a"), item("b", "Unknown")), None),
        (reported(item("a")), None),
        (reported(item("a"), item("b"), kind="Job"), None),
        (
            reported(item("a", status={"numberReady": 0}), item("b", status={"numberReady": 0}), kind="Set"),
            Severity.SOON,
        ),
    ],
)
def test_an_application_of_which_nothing_serves_for_minutes_is_told(
    web: ResourceBinding, severity: Severity | None
) -> None:
    found = told_of_itself(web)
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    assert all("look at its Pods" in each.sentence for each in found)


def test_a_refused_binding_is_named_by_its_own_name() -> None:
    web = binding("web", "a")
    refusal = condition("leeward.dev/Refused", "True", "TemplateOutOfReach", "spec.resource.namespace: it is not yours")
    status = msgspec.structs.replace(web.status, conditions=(from_wire(refusal, Condition),))
    found = only(observed(ready("a"), bindings=(msgspec.structs.replace(web, status=status),)))
    name = f"{web.namespace}/{web.name}"
    assert found.sentence == (
        f"ResourceBinding {name} is refused (TemplateOutOfReach, since 02:30:17, 11 min ago): "
        "spec.resource.namespace: it is not yours"
    )
    assert found.about == f"resourcebinding/{name}"


def test_a_brake_is_a_finding_while_it_is_engaged_or_overruled() -> None:
    engaged = BrakeReading(Brake(NOW - timedelta(seconds=28)), "4 of 4 clusters seem to be down")
    assert told(observed(brake=engaged)) == [
        (Severity.NEEDS_SOMEBODY, "the brake is engaged (since 02:40:49, 28 s ago): 4 of 4 clusters seem to be down")
    ]
    overruled = BrakeReading(Brake(overruled=True), "released by hand")
    assert told(observed(brake=overruled)) == [
        (Severity.SOON, "the brake was released by hand: evictions are allowed until the fleet looks well again")
    ]
    assert findings_of(observed(brake=BrakeReading(Brake(), "0 of 4"))) == []


@pytest.mark.parametrize(
    ("holder", "age_seconds", "says"),
    [
        ("one", 29, ""),
        ("one", 660, "karmada-scheduler has not renewed its lease (since 02:30:17, 11 min ago): does it run?"),
        ("", 660, "karmada-scheduler has no leader (since 02:30:17, 11 min ago): does it run?"),
    ],
)
def test_a_component_that_renews_no_lease_is_named(holder: str, age_seconds: int, says: str) -> None:
    renewed = (NOW - timedelta(seconds=age_seconds)).isoformat()
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    lease = from_wire({"metadata": {"name": "karmada-scheduler"}, "spec": spec}, Lease)
    assert [finding.sentence for finding in findings_of(observed(leases=(lease,)))] == ([says] if says else [])


def lease_of(name: str, holder: str, age_seconds: int, told: str = "") -> Lease:
    renewed = (NOW - timedelta(seconds=age_seconds)).isoformat()
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    annotations = {"leeward.dev/shards": told} if told else {}
    return from_wire({"metadata": {"name": name, "annotations": annotations}, "spec": spec}, Lease)


def test_a_shard_that_its_leader_relies_on_is_named_when_nobody_works_for_it() -> None:
    leader = lease_of("karmada-controller-manager", "one", 1, told="3/one")
    works, dead = lease_of("leeward-shard-0-of-3", "two", 1), lease_of("leeward-shard-1-of-3", "three", 660)
    of_before = lease_of("leeward-shard-1-of-2", "", 660)
    assert [each.sentence for each in findings_of(observed(leases=(leader, works, dead, of_before)))] == [
        "leeward-shard-2-of-3 has never had a leader, and has work: does it run?",
        "leeward-shard-1-of-3 has not renewed its lease (since 02:30:17, 11 min ago): does it run?",
    ]


@pytest.mark.parametrize("told", ["", "3/another", "many/one"])
def test_no_shard_is_missed_where_the_leader_does_all_itself(told: str) -> None:
    leader = lease_of("karmada-controller-manager", "one", 1, told=told)
    assert findings_of(observed(leases=(leader, lease_of("leeward-shard-1-of-3", "three", 660)))) == []


def test_the_lease_of_an_agent_is_none_of_a_component() -> None:
    """The agent's Cluster says whether it works; the Lease of one that has left stays."""
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}
    lease = from_wire({"metadata": {"name": lease_of_agent("member3")}, "spec": spec}, Lease)
    assert findings_of(observed(leases=(lease,))) == []


def test_a_lease_that_nobody_ever_renewed_says_nothing() -> None:
    assert findings_of(observed(leases=(from_wire({"metadata": {"name": "x"}}, Lease),))) == []


def heartbeat(age_seconds: int) -> Lease:
    renewed = (NOW - timedelta(seconds=age_seconds)).isoformat()
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 40, "renewTime": renewed}
    return from_wire({"metadata": {"name": "leeward-heartbeat"}, "spec": spec}, Lease)


def test_clusters_that_nobody_watches_are_told_of() -> None:
    assert findings_of(observed(ready("a"), leases=(heartbeat(79),))) == []
    finding = only(observed(ready("a"), leases=(heartbeat(660),)))
    assert (finding.severity, finding.about) == (Severity.NEEDS_SOMEBODY, "lease/leeward-heartbeat")
    assert finding.sentence == (
        "nobody watches the clusters (since 02:30:17, 11 min ago), and nothing fails over: do the controllers run?"
    )


@pytest.mark.parametrize(
    ("seen", "is_told"),
    [
        (observed(cluster("a"), cluster("b"), leases_seen=True), True),
        (observed(cluster("a"), leases_seen=False), False),
        (observed(leases_seen=True), False),
        (observed(cluster("a"), ready("b"), leases_seen=True), False),
        (observed(cluster("a"), leases=(heartbeat(1),), leases_seen=True), False),
        (observed(cluster("a"), leases=(lease_of("karmada-scheduler", "one", 1),), leases_seen=True), False),
        (observed(cluster("a"), leases=(lease_of(lease_of_agent("a"), "one", 1),), leases_seen=True), True),
    ],
)
def test_clusters_that_joined_where_no_controller_ever_worked_are_told_of(seen: Observed, is_told: bool) -> None:
    found = findings_of(seen)
    assert any(finding.sentence.startswith("no controller has ever worked here") for finding in found) is is_told
    assert (bool(found) and found[0].about == "controllers") is is_told


def test_clusters_that_the_brake_misses_are_told_once() -> None:
    """Engaged for them, or not yet enough of the fleet; bindings name them, too."""
    there = (binding("a", "fra-1"),)
    few = BrakeReading(Brake(), "0 of 4 clusters seem to be down; 1 of 5 are not listed", reason="ClustersVanished")
    assert only(observed(ready("b"), bindings=there, brake=few)).sentence == f"clusters have vanished: {few.message}"
    most = few._replace(brake=Brake(NOW - timedelta(seconds=28)))
    finding = only(observed(bindings=there, brake=most))
    assert finding.sentence == f"the brake is engaged (since 02:40:49, 28 s ago): {few.message}"


def test_an_instant_in_a_message_is_told_as_that_beside_it() -> None:
    silent = BrakeReading(Brake(NOW - timedelta(seconds=28)), "two fell silent. It holds until 2026-11-22T02:51:00Z")
    (sentence,) = (each.sentence for each in findings_of(observed(brake=silent)))
    assert sentence == "the brake is engaged (since 02:40:49, 28 s ago): two fell silent. It holds until 02:51:00"


def test_a_store_that_fails_is_told_before_everything_else() -> None:
    sentences = [s for _, s in told(observed(dead("a"), failed_checks={"ready": "", "etcd": "the disk is full"}))]
    assert sentences[:2] == [
        "the API server is not ready: ready",
        "the store of the API server fails: the disk is full",
    ]
    assert len(sentences) == 3


def test_what_will_count_soon_comes_after_what_needs_somebody() -> None:
    failing = condition("leeward.dev/Failing", "True", "ClusterNotReachable", "refused", "2026-11-22T02:40:49Z")
    doubtful = cluster("b", condition("Ready", "True", "ClusterReady"), failing)
    draining = ready("c", taints=(DRAIN,))
    seen = observed(doubtful, draining, dead("d"), bindings=(binding("web", "c"),))
    assert told(seen) == [
        (Severity.NEEDS_SOMEBODY, "d is down (since 02:30:17, 11 min ago): connection refused"),
        (Severity.SOON, "b is failing (since 02:40:49, 28 s ago): refused"),
        (Severity.SOON, "c is being drained (since 02:31:17, 10 min ago): 1 resource is still there"),
    ]


def test_a_drain_that_has_nothing_left_to_move_is_no_finding() -> None:
    stays = binding("web", "c", placement={"clusterTolerations": [{"operator": "Exists"}]})
    seen = observed(ready("c", taints=(DRAIN,)), bindings=(stays,))
    assert findings_of(seen) == []
    assert seen.rows[0].state is ClusterState.DRAINED


def test_what_cannot_be_read_is_named() -> None:
    assert [finding.sentence for finding in findings_of(observed(unreadable=("default/web",)))] == [
        "1 binding cannot be read: default/web"
    ]
    seen = Observed(NOW, rows=(unreadable_row("a", "Expected `str`"),))
    assert only(seen).sentence == "a cannot be read: Expected `str`"


def test_a_cluster_of_karmadas_own_with_hardly_a_field_is_a_row() -> None:
    bare = from_wire({"metadata": {"name": "a"}, "spec": {"syncMode": "Push"}}, Cluster)
    row = cluster_row(bare, ())
    assert (row.state, row.ready, row.cores, row.cores_allocated, row.since) == (
        ClusterState.SILENT,
        "-",
        None,
        None,
        None,
    )
    absurd = ready("b", resourceSummary={"allocatable": {"cpu": "many"}, "allocated": {"cpu": "1500m"}})
    assert (cluster_row(absurd, ()).cores, cluster_row(absurd, ()).cores_allocated) == (None, 1.5)
