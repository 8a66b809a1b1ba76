"""Claims to Works: whose a Work is, and what its second binding says."""

import msgspec

from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.status import Problem
from leeward.api.meta import find_condition
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    REFUSED_CONDITION,
    work_name,
)
from leeward.api.work import BindingResource, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus, Work
from leeward.core.binding_status import tell
from leeward.core.execution.claims import (
    Owner,
    beyond_its_binding,
    has_claim,
    holds_another_object,
    name_of_works,
    owners_of,
)
from leeward.core.execution.refusal import MAX_MESSAGE_CHARACTERS, out_of_reach, works_taken
from leeward.core.propagation.reach import Reach
from tests.builders import NOW

WEB = work_name("Deployment", "web", "tenant")


def binding(name: str = "first", **named: str) -> ResourceBinding:
    resource = {"api_version": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "tenant", **named}
    spec = ResourceBindingSpec(resource=BindingResource(**resource))
    return ResourceBinding(metadata=ObjectMeta(name=name, namespace="tenant"), spec=spec)


def work(name: str = WEB, **annotations: str) -> Work:
    return Work(metadata=ObjectMeta(name=name, namespace="karmada-es-m1", annotations=annotations))


def holding(*manifests: Manifest) -> Work:
    of_web = work()
    workload = msgspec.structs.replace(of_web.spec.workload, manifests=manifests)
    return msgspec.structs.replace(of_web, spec=msgspec.structs.replace(of_web.spec, workload=workload))


def test_a_work_names_its_bindings() -> None:
    assert list(owners_of(work())) == []
    marks = {BINDING_NAMESPACE_ANNOTATION: "tenant", BINDING_NAME_ANNOTATION: "first"}
    assert list(owners_of(work(**marks))) == [Owner("tenant", "first")]
    for half in marks:
        assert list(owners_of(work(**{half: marks[half]}))) == [], "half a name is none"
    both = {**marks, CLUSTER_BINDING_NAME_ANNOTATION: "other"}
    assert [str(owner) for owner in owners_of(work(**both))] == [
        "ResourceBinding tenant/first",
        "ClusterResourceBinding other",
    ]


def test_a_binding_has_a_claim_only_to_works_of_its_name_and_within_its_reach() -> None:
    assert name_of_works(binding()) == WEB
    assert has_claim(binding(), work(), Reach())
    assert not has_claim(None, work(), Reach())
    assert not has_claim(binding(name="first", namespace="other"), work(), Reach())
    assert not has_claim(binding(), work("another-name"), Reach())
    of_other = work(work_name("Deployment", "web", "other"))
    assert not has_claim(binding(namespace="other"), of_other, Reach()), "its name is right, its reach is not"


def test_a_work_of_nobody_is_taken_only_for_its_object() -> None:
    web: Manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "tenant"}}
    wanted: Manifest = {"spec": {"workload": {"manifests": [web]}}}
    assert holds_another_object(holding({**web, "apiVersion": "apps/v1beta1"}), wanted) == ""
    assert holds_another_object(holding(), wanted) == ""
    assert holds_another_object(holding({**web, "kind": "Secret"}), wanted) == "Secret tenant/web"
    assert holds_another_object(holding({**web, "apiVersion": "evil.io/v1"}), wanted) == "Deployment tenant/web"
    two = holding({**web, "kind": "Secret"}, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant"}})
    assert holds_another_object(two, wanted) == "Secret tenant/web, Namespace tenant"
    settings: Manifest = {**web, "apiVersion": "v1", "kind": "ConfigMap"}
    later = holding({**settings, "apiVersion": "v2"})
    assert holds_another_object(later, {"spec": {"workload": {"manifests": [settings]}}}) == "", "the core group"


def test_what_is_refused_is_said_and_taken_back() -> None:
    refusal = works_taken({"m2": "Work a belongs to X", "m1": "Work a belongs to X", "m3": "Work a is for Y"})
    assert refusal is not None
    assert refusal.message == (
        "Left alone: in m1, m2 Work a belongs to X; in m3 Work a is for Y. Delete one of the two."
    )
    status = tell(ResourceBindingStatus(), {REFUSED_CONDITION: refusal}, NOW)
    told = find_condition(status.conditions, REFUSED_CONDITION)
    assert told is not None
    assert (told.status, told.reason) == ("True", "WorkOfAnotherBinding")
    assert tell(status, {REFUSED_CONDITION: works_taken({})}, NOW).conditions == ()


def test_a_refusal_is_short_whatever_was_written() -> None:
    refusal = out_of_reach([Problem.invalid("spec.resource.name", "x" * 5_000, "is long" * 200)])
    assert len(refusal.message) == MAX_MESSAGE_CHARACTERS
    assert refusal.message.startswith("spec.resource.name: Invalid value")
    assert refusal.reason == "TemplateOutOfReach"
    two = out_of_reach([Problem.invalid("spec.resource.name", "", "is missing"), Problem.forbidden("spec", "not so")])
    assert two.message.startswith('spec.resource.name: Invalid value: "": is missing; spec: Forbidden: not so. ')


def test_a_refusal_that_just_fits_is_told_in_full() -> None:
    room = MAX_MESSAGE_CHARACTERS - len("Left alone: in m1 . Delete one of the two.")
    for beyond in (0, 1):
        refusal = works_taken({"m1": "x" * (room + beyond)})
        assert refusal is not None
        assert len(refusal.message) == MAX_MESSAGE_CHARACTERS
        assert refusal.message.endswith("..." if beyond else "Delete one of the two.")


def test_an_object_of_a_work_is_where_its_binding_is() -> None:
    marks = {BINDING_NAMESPACE_ANNOTATION: "tenant", BINDING_NAME_ANNOTATION: "first"}
    own: Manifest = {"kind": "Secret", "metadata": {"name": "a", "namespace": "tenant"}}
    other: Manifest = {"kind": "Secret", "metadata": {"name": "a", "namespace": "other"}}
    everywhere: Manifest = {"kind": "Namespace", "metadata": {"name": "a"}}
    assert beyond_its_binding(work(**marks), own) == ""
    assert "in namespace other" in beyond_its_binding(work(**marks), other)
    assert beyond_its_binding(work(**marks), everywhere) == (
        "it is in no namespace, where ResourceBinding tenant/first does not reach; delete that binding"
    )
    of_cluster = work(**{CLUSTER_BINDING_NAME_ANNOTATION: "x"})
    assert beyond_its_binding(of_cluster, everywhere) == ""
    assert "ClusterResourceBinding x does not reach" in beyond_its_binding(of_cluster, own)
    assert beyond_its_binding(work(), other) == "", "somebody's own Work"
