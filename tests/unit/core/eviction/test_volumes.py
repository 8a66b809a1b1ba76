"""StatefulSets with claims move only where their volumes come along, or where a person wants it all the same."""

from typing import Literal

import msgspec
import pytest

from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.cluster import APIEnablement, APIResource, Cluster
from leeward.api.names import CLAIMS_ANNOTATION
from leeward.api.policy import ApplicationFailover, ClusterFailover, DecisionConditions, FailoverBehavior
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import AggregatedStatusItem, ResourceBinding
from leeward.core import placement
from leeward.core.eviction.volumes import (
    claims_annotation,
    claims_of,
    noted_claims,
    purge_mode_with_volumes,
    stay_behind,
    why_volumes_stay,
)
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from tests.builders import aggregated, at, binding, cluster, dead, duplicated, fleet, targets, works

CLAIMS: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "spec": {
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}],
        "template": {
            "spec": {
                "volumes": [
                    {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
                    {"name": "config", "configMap": {"name": "config"}},
                ]
            }
        },
    },
}


Mode = Literal["Directly", "Gracefully", "Never"]


def bound(
    follow: str | None = "", mode: Literal["Directly", "Gracefully"] | None = None, application: Mode | None = None
) -> ResourceBinding:
    """Binding on a, of a and b; `follow` None: without claims."""
    annotations = {} if follow is None else {"leeward.dev/claims": "data"}
    if follow:
        annotations["leeward.dev/volumes-follow"] = follow
    made = aggregated(binding(duplicated("a", "b", groups=1), 2, targets(a=2)))
    behaviour = FailoverBehavior(
        cluster=ClusterFailover(purge_mode=mode) if mode else None,
        application=ApplicationFailover(DecisionConditions(10), purge_mode=application) if application else None,
    )
    return msgspec.structs.replace(
        made,
        metadata=msgspec.structs.replace(made.metadata, annotations=annotations),
        spec=msgspec.structs.replace(made.spec, failover=behaviour),
    )


def offering_sets(cluster: Cluster) -> Cluster:
    """The cluster, which offers StatefulSets, too."""
    kinds = (APIResource("deployments", "Deployment"), APIResource("statefulsets", "StatefulSet"))
    status = msgspec.structs.replace(cluster.status, api_enablements=(APIEnablement("apps/v1", kinds),))
    return msgspec.structs.replace(cluster, status=status)


def decide(bound: ResourceBinding, settings: PlacementSettings | None = None) -> Decision:
    clusters, copies = fleet(dead("a"), offering_sets(cluster("b"))), works({"a": 2})
    return placement.decide(Snapshot(bound, clusters, copies, settings=settings or PlacementSettings(), now=at(400)))


def test_claims_are_those_of_the_set_and_of_its_pods() -> None:
    assert claims_of(CLAIMS) == ("data", "logs", "shared")
    assert claims_annotation(CLAIMS) == {"leeward.dev/claims": "data, logs, shared"}
    assert claims_of({**CLAIMS, "kind": "Deployment"}) == ()
    assert claims_of({**CLAIMS, "apiVersion": "apps.kruise.io/v1beta1"}) == ()
    assert claims_of({"kind": "StatefulSet"}) == ()
    assert claims_of({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": "nonsense"}) == ()
    assert claims_annotation({"apiVersion": "apps/v1", "kind": "StatefulSet"}) == {"leeward.dev/claims": ""}
    assert claims_annotation({"apiVersion": "apps/v1", "kind": "Deployment"}) == {}


@pytest.mark.parametrize(
    ("annotations", "kind", "stays"),
    [
        ({"leeward.dev/template-digest": "d", "leeward.dev/claims": "data"}, "StatefulSet", True),
        ({"leeward.dev/template-digest": "d", "leeward.dev/claims": ""}, "StatefulSet", False),
        ({"leeward.dev/template-digest": "d"}, "StatefulSet", True),
        ({"leeward.dev/template-digest": "d"}, "Deployment", False),
        ({}, "StatefulSet", True),
        ({"leeward.dev/claims": ""}, "StatefulSet", False),
        ({}, "Deployment", False),
    ],
    ids=[
        "claims",
        "no claims",
        "of an earlier version",
        "of another kind",
        "of Karmada's detector",
        "others, who say so",
        "of others and another kind",
    ],
)
def test_s12_a_set_of_which_a_binding_says_nothing_may_have_volumes(
    annotations: dict[str, str], kind: str, *, stays: bool
) -> None:
    made = bound()
    resource = msgspec.structs.replace(made.spec.resource, api_version="apps/v1", kind=kind)
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    told = msgspec.structs.replace(made, metadata=metadata, spec=msgspec.structs.replace(made.spec, resource=resource))
    assert stay_behind(told, PurgeMode.GRACEFULLY) is stays


@pytest.mark.parametrize(
    ("annotations", "claims"), [({CLAIMS_ANNOTATION: "data, logs"}, "data, logs"), ({}, "which are not known yet")]
)
def test_why_volumes_stay_is_told_with_the_ways_out(annotations: dict[str, str], claims: str) -> None:
    made = ResourceBinding(metadata=ObjectMeta(name="db", annotations=annotations), spec=bound().spec)
    assert why_volumes_stay(made) == (
        f"the volumes of the claims ({claims}) would stay behind. If the storage is replicated, annotate the policy "
        "with leeward.dev/volumes-follow=true. The application then moves with its data, but stays if purgeMode is "
        "Never. With purgeMode Directly and without the annotation, the application moves and starts without its data"
    )


def test_many_claims_are_told_in_a_few_words() -> None:
    many = [{"metadata": {"name": f"c{number}"}} for number in range(8)]
    for count, more in ((8, " and 3 more"), (6, " and 1 more"), (5, "")):
        told = claims_annotation({**CLAIMS, "spec": {"volumeClaimTemplates": many[:count]}})
        assert told == {"leeward.dev/claims": f"c0, c1, c2, c3, c4{more}"}


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("data", ("data",)),
        ("data, logs", ("data", "logs")),
        ("c0, c1, c2, c3, c4 and 3 more", ("c0", "c1", "c2", "c3", "c4", "3 more")),
        ("", ()),
        (None, ()),
    ],
)
def test_the_claims_that_a_binding_notes_are_told_one_by_one(text: str | None, claims: tuple[str, ...]) -> None:
    annotations = {} if text is None else {CLAIMS_ANNOTATION: text}
    made = ResourceBinding(metadata=ObjectMeta(name="db", annotations=annotations), spec=bound().spec)
    assert noted_claims(made) == claims


@pytest.mark.parametrize(
    ("follow", "mode", "stays", "leaves"),
    [
        ("", PurgeMode.GRACEFULLY, True, PurgeMode.GRACEFULLY),
        ("false", PurgeMode.GRACEFULLY, True, PurgeMode.GRACEFULLY),
        ("true", PurgeMode.GRACEFULLY, False, PurgeMode.DIRECTLY),
        ("", PurgeMode.DIRECTLY, False, PurgeMode.DIRECTLY),
        ("true", PurgeMode.DIRECTLY, False, PurgeMode.DIRECTLY),
        ("", PurgeMode.NEVER, True, PurgeMode.NEVER),
        ("true", PurgeMode.NEVER, True, PurgeMode.NEVER),
        (None, PurgeMode.GRACEFULLY, False, PurgeMode.GRACEFULLY),
        (None, PurgeMode.NEVER, False, PurgeMode.NEVER),
    ],
)
def test_s7_at_most_one_copy_has_the_volumes(
    follow: str | None, mode: PurgeMode, stays: bool, leaves: PurgeMode
) -> None:
    made = bound(follow)
    assert (stay_behind(made, mode), purge_mode_with_volumes(made, mode)) == (stays, leaves)


def test_s12_an_outage_moves_no_volumes() -> None:
    decision = decide(bound())
    assert (decision.clusters, decision.eviction_tasks, decision.evicted) == (targets(a=2), (), ())
    assert decision.held is not None
    assert decision.held.reason == "VolumesStay"


def test_volumes_that_follow_are_written_by_one_copy_at_a_time() -> None:
    decision = decide(bound("true"))
    (task,) = decision.eviction_tasks
    assert (decision.clusters, task.from_cluster, task.purge_mode) == (targets(b=2), "a", "Directly")


def test_s11_volumes_that_follow_stay_where_there_is_no_place_for_them() -> None:
    clusters = fleet(dead("a"), dead("b"))
    decision = placement.decide(Snapshot(bound("true"), clusters, works({"a": 2}), now=at(400)))
    assert (decision.clusters, decision.eviction_tasks) == (targets(a=2), ())
    assert decision.held is not None
    assert decision.held.reason == "NoPlaceToGo"


@pytest.mark.parametrize("follow", ["", "true"])
def test_who_asks_for_it_moves_without_them(follow: str) -> None:
    decision = decide(bound(follow, mode="Directly"))
    assert [(task.from_cluster, task.purge_mode) for task in decision.eviction_tasks] == [("a", "Directly")]


def unsaid(made: ResourceBinding) -> ResourceBinding:
    """The binding as Karmada's detector makes it of a StatefulSet."""
    resource = msgspec.structs.replace(made.spec.resource, api_version="apps/v1", kind="StatefulSet")
    metadata = msgspec.structs.replace(made.metadata, annotations={})
    return msgspec.structs.replace(made, metadata=metadata, spec=msgspec.structs.replace(made.spec, resource=resource))


def test_s12_what_karmada_has_made_stays_until_its_claims_are_known() -> None:
    decision = decide(unsaid(bound()))
    assert (decision.clusters, decision.eviction_tasks) == (targets(a=2), ())
    assert decision.held is not None
    assert decision.held.reason == "VolumesStay"
    assert "the volumes of the claims (which are not known yet) would stay behind" in decision.held.message


@pytest.mark.parametrize("made", [bound(), unsaid(bound())], ids=["claims", "of Karmada's detector"])
def test_karmada_moves_them(made: ResourceBinding) -> None:
    karmada = PlacementSettings(keep_without_place=False, withdraw=False, exact_health=True)
    decision = decide(made, karmada)
    (task,) = decision.eviction_tasks
    assert (decision.clusters, task.from_cluster, task.purge_mode) == (targets(b=2), "a", "Gracefully")


@pytest.mark.parametrize(
    ("follow", "mode", "left", "reason"),
    [
        ("", "Gracefully", [], "VolumesStay"),
        ("true", "Gracefully", [("a", "Directly")], None),
        ("", "Directly", [("a", "Directly")], None),
        ("true", "Never", [], "VolumesStay"),
        (None, "Gracefully", [("a", "Gracefully")], None),
    ],
)
def test_a_failed_copy_leaves_its_volumes_as_little(
    follow: str | None, mode: Mode, left: list[tuple[str, str]], reason: str | None
) -> None:
    made = bound(follow, application=mode)
    failing = {**made.metadata.annotations, "leeward.dev/application-failures": FAILING}
    made = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=failing))
    item = AggregatedStatusItem(cluster_name="a", health="Unhealthy")
    made = msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, aggregated_status=(item,)))
    snapshot = Snapshot(made, fleet(cluster("a"), cluster("b")), works({"a": None}), now=at(400))
    decision = placement.decide(snapshot)
    assert [(task.from_cluster, task.purge_mode) for task in decision.eviction_tasks] == left
    assert (decision.held.reason if decision.held else None) == reason
    if decision.held is not None:
        assert "the volumes of the claims (data) would stay behind" in decision.held.message


FAILING = '{"release":"","replicas":2,"since":{"a":"2026-01-01T00:00:00Z"}}'
