"""First ordinals of copies: their clusters' slots, and those that their Works tell of."""

from dataclasses import replace
from random import Random

import pytest
from msgspec import structs

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest
from leeward.answers.rendered_copies import Application, render_copies
from leeward.api.cluster import Cluster
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.api.ordinals import FIRST_ORDINAL_ANNOTATION, ORDINALS_ANNOTATION, volumes_follow
from leeward.api.work import ResourceBinding, Work, WorkloadTemplate, WorkSpec
from leeward.core.admission_warnings import warnings_for
from leeward.core.execution.first_ordinals import (
    SLOT,
    next_slots,
    parse_slots,
    with_kept_ordinals,
    with_ordinals,
    without_slot,
)
from leeward.core.interpreter.dependencies import stateful_set_dependencies
from leeward.core.overrides.rendering import Overridden, OverrideFailure
from leeward.core.propagation.claiming import binding_patch
from tests.builders import binding, cluster, duplicated, targets, work


def stateful_set(replicas: int = 2, asks: str | None = "ByCluster", **spec: object) -> Manifest:
    annotations = {} if asks is None else {ORDINALS_ANNOTATION: asks}
    metadata = {"name": "db", "namespace": "default", "annotations": annotations}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata,
        "spec": {"replicas": replicas, **spec},
    }


def present(name: str, manifest: Manifest) -> Work:
    return structs.replace(work(name, 2), spec=WorkSpec(workload=WorkloadTemplate(manifests=(manifest,))))


def of_version(version: str) -> Cluster:
    found = cluster("member1")
    return structs.replace(found, status=structs.replace(found.status, kubernetes_version=version))


def made_with(asks: str | None, **more: str) -> ResourceBinding:
    bound = binding(duplicated("member1"), 2)
    annotations = more if asks is None else {**more, ORDINALS_ANNOTATION: asks}
    return structs.replace(bound, metadata=structs.replace(bound.metadata, annotations=annotations))


def starts(numbered: dict[str, Overridden | OverrideFailure]) -> dict[str, int]:
    found = {name: each for name, each in numbered.items() if isinstance(each, Overridden)}
    assert found.keys() == numbered.keys()
    return {name: each.manifest["spec"].get("ordinals", {}).get("start", 0) for name, each in found.items()}


@pytest.mark.parametrize("seed", range(50))
def test_over_drawn_fleets_no_two_copies_share_an_ordinal_and_none_is_renamed(seed: int) -> None:
    random, slots, copies = Random(seed), dict[str, int](), dict[str, Work]()
    begun = dict[str, int]()
    for _ in range(30):
        wanted = random.sample([f"member{number}" for number in range(8)], random.randint(1, 5))
        copies = {name: each for name, each in copies.items() if name in wanted or random.random() < 0.5}
        template = stateful_set(random.choice((1, 3, SLOT)))
        slots |= next_slots(without_slot(made_with("ByCluster"), wanted, copies), slots)
        numbered = with_ordinals(dict.fromkeys({*wanted, *copies}, Overridden(template)), copies, slots, {})
        first = starts(numbered)
        assert len({each // SLOT for each in first.values()}) == len(first)
        assert all(begun.setdefault(name, each) == each for name, each in first.items()), "a cluster keeps its slot"
        copies = {
            name: present(name, dict(each.manifest)) for name, each in numbered.items() if isinstance(each, Overridden)
        }


def test_a_copy_that_was_made_without_a_slot_keeps_its_ordinals() -> None:
    copies = {"member1": present("member1", stateful_set(asks=None))}
    assert without_slot(made_with("ByCluster"), ["member1", "member2"], copies) == ["member2"]
    rendered = {name: Overridden(stateful_set()) for name in ("member1", "member2")}
    assert starts(with_ordinals(rendered, copies, {"member1": 1, "member2": 2}, {})) == {"member1": 0, "member2": 2000}


def test_a_copy_keeps_its_slot_when_the_annotation_goes_and_when_the_slot_is_another() -> None:
    (made,) = with_ordinals({"member1": Overridden(stateful_set())}, {}, {"member1": 3}, {}).values()
    assert isinstance(made, Overridden)
    copies = {"member1": present("member1", dict(made.manifest))}
    rendered = {"member1": Overridden(stateful_set(asks=None))}
    assert starts(with_ordinals(rendered, copies, {"member1": 9}, {})) == {"member1": 3000}


@pytest.mark.parametrize("asks", [None, "ByCluster"])
def test_a_set_whose_binding_was_made_without_is_as_it_was(asks: str | None) -> None:
    assert without_slot(made_with(None), ["member1"], {}) == []
    rendered = {"member1": Overridden(stateful_set(asks=asks))}
    assert with_ordinals(rendered, {}, {}, {}) == rendered


@pytest.mark.parametrize(("asks", "kept"), [("ByCluster", None), (None, "ByCluster")])
def test_an_annotation_that_comes_or_goes_late_leaves_the_binding_as_it_was_made(
    asks: str | None, kept: str | None
) -> None:
    found: Manifest = {"metadata": to_wire(made_with(kept))["metadata"], "spec": {}}
    desired: Manifest = {"metadata": to_wire(made_with(asks))["metadata"], "spec": {}}
    assert ORDINALS_ANNOTATION not in str(binding_patch(found, desired))


@pytest.mark.parametrize(("asks", "follow"), [(None, True), ("ByCluster", False)])
def test_volumes_with_other_names_do_not_follow(asks: str | None, *, follow: bool) -> None:
    assert volumes_follow(made_with(asks, **{VOLUMES_FOLLOW_ANNOTATION: "true"})) is follow


@pytest.mark.parametrize("version", ["v1.26.9", "v1.20.0"])
def test_a_cluster_that_drops_ordinals_gets_no_copy(version: str) -> None:
    (made,) = with_ordinals(
        {"member1": Overridden(stateful_set())}, {}, {"member1": 1}, {"member1": of_version(version)}
    ).values()
    assert isinstance(made, OverrideFailure)
    assert made.message.endswith(f"Kubernetes {version} drops spec.ordinals: place it in clusters of 1.27 or later")


@pytest.mark.parametrize("version", ["v1.27.0", "v1.36.0", "", "v1.27+", "unknown", f"v1.{'9' * 5_000}"])
def test_a_version_that_keeps_them_or_that_nobody_knows_is_no_hindrance(version: str) -> None:
    clusters = {"member1": of_version(version)}
    assert starts(with_ordinals({"member1": Overridden(stateful_set())}, {}, {"member1": 1}, clusters)) == {
        "member1": 1000
    }


def test_more_replicas_than_ordinals_are_refused_with_the_way_out() -> None:
    (made,) = with_ordinals({"member1": Overridden(stateful_set(SLOT + 1))}, {}, {"member1": 1}, {}).values()
    assert isinstance(made, OverrideFailure)
    assert "1001 replicas are more than the 1000 ordinals of a cluster" in made.message


def test_the_mark_of_a_copy_is_on_the_object_in_its_member() -> None:
    (made,) = with_ordinals({"member1": Overridden(stateful_set())}, {}, {"member1": 1}, {}).values()
    assert isinstance(made, Overridden)
    assert made.manifest["metadata"]["annotations"][FIRST_ORDINAL_ANNOTATION] == "1000"
    assert replace(made, manifest=None) == replace(Overridden(stateful_set()), manifest=None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"a": "x"}, "a: 'x' is no slot"),
        ({"a": "0"}, "a: '0' is no slot"),
        ({"a": "-1"}, "a: '-1' is no slot"),
        ({"a": "9" * 7}, "is no slot"),
        ({"a": "1", "b": "01"}, "b: a has slot 01 too"),
    ],
)
def test_a_slot_that_cannot_be_read_names_its_cluster(data: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_slots(data)


def test_slots_begin_at_one_and_go_on_after_the_highest() -> None:
    assert next_slots(["b", "a"], {}) == {"a": 1, "b": 2}
    assert next_slots(["a", "c"], {"a": 1, "b": 7}) == {"c": 8}


def test_the_headless_service_is_a_dependency_of_a_set_with_ordinals_by_cluster_alone() -> None:
    named = [each.name for each in stateful_set_dependencies(stateful_set(serviceName="db"))]
    assert named == ["db"]
    assert stateful_set_dependencies(stateful_set(asks=None, serviceName="db")) == []


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (stateful_set(), []),
        (stateful_set(asks=None), []),
        (stateful_set(asks="yes"), ["metadata.annotations[leeward.dev/ordinals] has no effect: write ByCluster"]),
        (
            stateful_set() | {"kind": "Deployment"},
            ["metadata.annotations[leeward.dev/ordinals] has no effect: only a StatefulSet of apps/v1 has ordinals"],
        ),
        (
            stateful_set(volumeClaimTemplates=[{"metadata": {"name": "data"}}]),
            [
                "metadata.annotations[leeward.dev/ordinals]: claims have other names in each cluster, so "
                "leeward.dev/volumes-follow has no effect; added later it changes nothing"
            ],
        ),
    ],
)
def test_ordinals_without_effect_are_told_at_admission(manifest: Manifest, said: list[str]) -> None:
    assert warnings_for(manifest) == said


def test_a_rendering_offline_shows_the_ordinals_of_the_copy_that_is_there() -> None:
    (made,) = with_ordinals({"member1": Overridden(stateful_set())}, {}, {"member1": 3}, {}).values()
    assert isinstance(made, Overridden)
    template = stateful_set()
    works = {"member1": present("member1", dict(made.manifest))}
    bound = binding(duplicated("member1"), 2, targets(member1=2))
    (copy,) = render_copies(Application(template, {"member1": cluster("member1")}, bound, works=works))
    assert copy.wanted is not None
    assert copy.wanted["spec"]["ordinals"] == {"start": 3000}


def of_member(start: int, mark: int = 0) -> Manifest:
    made = stateful_set(asks=None)
    made["spec"] |= {"ordinals": {"start": start}} if start else {}
    made["metadata"]["annotations"] = {FIRST_ORDINAL_ANNOTATION: str(mark)} if mark else {}
    return made


@pytest.mark.parametrize(
    ("desired", "observed", "expected"),
    [
        ((1000, 1000), (1000, 1000), (1000, 1000)),
        ((1000, 1000), (0, 0), (0, 0)),
        ((1001, 1000), (0, 0), (0, 0)),
        ((1000, 1000), (5, 0), (5, 5)),
        ((1000, 1000), (2000, 2000), (2000, 2000)),
        ((1001, 1000), (2000, 2000), (2001, 2000)),
        ((0, 0), (2000, 2000), (2000, 2000)),
        ((3, 0), (0, 0), (3, 0)),
        ((1000, 1000), (1000, 0), (1000, 1000)),
        ((2500, 1000), (2500, 0), (2500, 1000)),
        ((1000, 1000), (0, 1000), (0, 0)),
        ((0, 0), (0, 1000), (0, 0)),
    ],
    ids=[
        "same", "was there", "was there, with a start", "was there with one", "another slot", "its start changes",
        "no slot any more", "no slots at all", "mark lost", "mark lost, with a start", "dropped", "dropped, no slot",
    ],
)  # fmt: skip
def test_s12_a_stateful_set_in_a_member_keeps_its_ordinals(
    desired: tuple[int, int], observed: tuple[int, int], expected: tuple[int, int]
) -> None:
    """Each is the start and the mark."""
    there = of_member(*observed)
    written = with_kept_ordinals(of_member(*desired), there)
    assert written == of_member(*expected)
    assert with_kept_ordinals(of_member(*desired), written) == written, "it is written once"
